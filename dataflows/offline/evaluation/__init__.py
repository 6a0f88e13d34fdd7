"""Measure offline how useful releases of a sample are, for a grid of epsilons and operators.

sample      the records; `run` releases them as `fugu run` would
candidates  one cell of the grid, and the grid
family      what a family of operators contributes, and the loop over candidates and repetitions
report      what was measured, as data; `tables` and `plot` show it
records, temporal, aggregates  the families; `families` chooses one for a section
"""
