"""Evaluate how far the released figures of an aggregate are from the true ones.

exact       the figures without noise
figures     partial sums of a sample, and what a strategy makes of them
utility     errors, and how often something new is published
family      what windows, policies and real_time have in common
simulated   rivals that no pipeline runs, some of which look at the truth
plot        errors as lines or boxes, and the largest group over time
"""
