"""Money: entries, their chain, the budget.

What a job produced is known only by its unit ids; reports about cost are written in `report`.
"""
