"""Riders by zone, twice: local reports and central counts of the same people."""
