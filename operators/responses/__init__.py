"""Randomized response: reports of symbols without a model, and estimates from them."""
