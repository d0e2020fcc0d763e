"""Figures: each answers the question in its title. A module is one figure: numbers of the aggregate in, a picture out."""
