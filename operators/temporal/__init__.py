"""Temporal perturbation: values are published unchanged, and when they are is randomised."""
