"""Units in a Hub repository: pinned by commit, pushed, pulled, verified. The client is imported here and nowhere else.

What a unit is, what a store must give and what pins.json says do not live here; they know nothing of a network.
"""
