"""How far the released figures of an aggregate are from the true ones.

exact       the figures without noise
figures     partial sums of a sample, and what a strategy makes of them
grid        strategies, epsilons and windows to compare
utility     errors, and how often something new is published
evaluation  all of it
real_time   all of it for real-time release: filters, strategies in one window, and simulations
simulated   rivals that no pipeline runs, some of which look at the truth
drawing     errors as lines, and the largest group over time
"""
