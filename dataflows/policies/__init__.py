"""Policies of Swellfish privacy as people write them: what is to be hidden, when, and how much."""
