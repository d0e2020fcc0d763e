"""The kernel: bytes, digests, pins, documents, rows, unit records, stores, roster, importers.

What a registration means, what money is and what a report says do not live here; those packages build on this one.
"""
