"""Sections: each says one thing of a study as content. `ORDER` in `report.page` puts them together.

A section that has nothing to say says in one line why. Writers in Markdown and HTML live elsewhere.
"""
