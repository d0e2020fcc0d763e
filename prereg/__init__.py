"""The registration: the frozen block, the design inside it, freeze and verify.

Nothing here computes a result; a design names methods, `report` computes them.
"""
