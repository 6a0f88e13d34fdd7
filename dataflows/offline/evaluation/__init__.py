"""Measure offline how useful releases of a sample are, for a grid of epsilons and operators.

`families` chooses what is compared for a section of the pipeline file, and `family` has the one
loop; `report` holds what was measured, which `tables` and `plot` show.
"""
