"""Audit operators that publish true values at other ticks."""
