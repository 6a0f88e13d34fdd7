"""Estimates over users from releases of several kinds of mechanisms."""
