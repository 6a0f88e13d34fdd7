"""Swellfish privacy: people say what is to be hidden and when, and noise follows."""
