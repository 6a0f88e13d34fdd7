"""Audit operators that release series of numbers of single streams, with noise and a filter."""
