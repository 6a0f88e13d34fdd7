"""Divide long lists of cases between `make test` and `make acceptance`."""

from collections.abc import Iterable

import pytest


def first_in_test(cases: Iterable[object], count: int) -> list[object]:
    """Return all cases; those after the first `count` are for `make acceptance` alone.

    A tuple is one case with several values.
    """
    return [case if index < count else in_acceptance(case) for index, case in enumerate(cases)]


def in_acceptance(case: object) -> object:
    """Return a case that `make acceptance` alone runs."""
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.acceptance)
