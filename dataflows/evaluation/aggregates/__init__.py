"""How far the released figures of an aggregate are from the true ones.

exact       the figures without noise
figures     partial sums of a sample, and what a strategy makes of them
grid        strategies, epsilons and windows to compare
utility     errors, and how often something new is published
evaluation  all of it
"""
