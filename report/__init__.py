"""Evidence to statistics to bundle: everything that is computed from rows and written for a reader.

Rows are never made or changed here. `report/statistics/` is pure functions over arrays and imports nothing of ours.
"""
