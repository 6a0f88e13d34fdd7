"""Anonymise windows of trajectories that carry a sensitive value."""
