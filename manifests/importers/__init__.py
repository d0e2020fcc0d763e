"""Readers of logs that other tools wrote, one module a format. What a unit is and where it is stored is decided elsewhere."""
