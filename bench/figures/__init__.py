"""Figures of the papers, computed anew: each with a picture, and a sentence on what holds of it."""
