"""Name the ways in which a release shows its value, for those who read it."""

from typing import Literal

ReleasedAs = Literal[
    "symbol", "symbols", "set", "report", "half", "number", "series", "payload", "figures", "person"
]
"""One symbol; a list, one for each record; a set; a set with its epsilon; a row of the Hadamard
matrix and a sign; a number; a number with its error bar; an envelope around a true value; figures
of groups; points of a person and a category."""
