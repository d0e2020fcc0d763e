"""Engines: what turns prompts into completions. One module each; heavy libraries are imported nowhere else.

`contract` says what an engine is. Prompts, verdicts and rows do not live here.
"""
