"""How rows come to be: today the import of rows made elsewhere and their check against the plan.

Generation, verification and training will live here too. Reports do not: the two meet through files.
"""
