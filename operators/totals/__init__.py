"""Publish running totals by factorised noise."""
