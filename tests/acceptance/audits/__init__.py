"""Audits of the example of every kind: `python -m tests.acceptance.audits` runs and writes them."""
