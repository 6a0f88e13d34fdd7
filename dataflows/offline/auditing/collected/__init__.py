"""Audit counts from private reports."""
