"""Temporal privacy leakage: what releases over time tell somebody who knows how values follow each
other."""
