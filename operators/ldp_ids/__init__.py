"""Counts over all users from private reports, with a budget for windows of ticks (LDP-IDS)."""
