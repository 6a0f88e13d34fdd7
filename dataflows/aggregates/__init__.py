"""Aggregates: every user's one contribution to a tick, summed by group, then released with noise.

contributions  what a record contributes, and to which group
bounding       at most one contribution of a user to a tick; sums of one partition
partials       these sums in the internal log, which is the only input of the merge
merging        ticks that all partitions have closed, released by the mechanism
"""
