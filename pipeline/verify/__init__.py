"""Verifiers: what judges a completion. `contract` says what one is, `pool` runs it in processes that may hang or die.

Engines and rows do not live here.
"""
