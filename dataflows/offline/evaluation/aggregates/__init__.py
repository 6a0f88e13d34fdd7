"""Evaluate how far the released figures of an aggregate are from the true ones."""
