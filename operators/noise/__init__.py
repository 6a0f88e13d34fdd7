"""Noise that is added to exact numbers: a public grid, integer noise, and what both cost."""
