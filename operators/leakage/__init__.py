"""Temporal privacy leakage: bounds on what an adversary with a Markov model learns over time."""
