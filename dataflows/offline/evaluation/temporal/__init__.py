"""Evaluate operators whose values are true, and whose ticks are not."""
