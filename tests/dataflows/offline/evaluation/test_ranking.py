"""Rows are ranked by their error, among those whose proved privacy is equal."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.estimates import Estimate
from fugu.dataflows.offline.evaluation.ranking import Guess, in_words, ranked
from fugu.dataflows.offline.evaluation.records.numbers import NumberMeasure
from fugu.dataflows.offline.evaluation.records.symbols import SymbolMeasure
from fugu.dataflows.offline.evaluation.report import Figure, Report, Row, Utility
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.markov_model import MarkovModel

MODEL = MarkovModel.smoothed([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], smoothing=0.001)


@dataclass(frozen=True, eq=False)
class Errs(Utility):
    """An error in the unit of the data."""

    error: Estimate

    def figures(self) -> Iterator[Figure]:
        yield Figure("error", self.error)

    def ranked_by(self) -> tuple[str, Estimate]:
        return "what a figure errs, in people", self.error


def grr(epsilon: float, error: float, spread: float = 0.1, configured: bool = False) -> Row[Errs]:
    mechanism = GeneralizedRandomizedResponse(2, epsilon)
    return Row(Candidate("grr", epsilon, mechanism), configured, Errs(Estimate(error, spread)))


def crr(epsilon: float, error: float) -> Row[Errs]:
    mechanism = ConditionalRandomizedResponse(MODEL, epsilon)
    return Row(Candidate("crr", epsilon, mechanism), False, Errs(Estimate(error, 0.1)))


def report(*rows: Row[Errs]) -> Report[Errs]:
    sample: object = Path("sample.jsonl")
    return Report("zones", sample, [], 2, 0, rows, notions=("ldp",))  # type: ignore[arg-type]


def test_only_rows_that_prove_as_much_are_ranked() -> None:
    """`crr` proves 2 epsilon without a model, so that of half the epsilon stands beside `grr`."""
    rows = grr(2.0, 6.0, configured=True), grr(4.0, 1.0), crr(1.0, 3.0), crr(2.0, 2.0)
    found = ranked(report(*rows), "ldp")
    assert [one.row for one in found] == [rows[2], rows[0]]
    assert [one.times_best for one in found] == [1.0, 2.0]
    lines = list(in_words(report(*rows), found, None))
    assert lines[0].startswith("Ranked by what a figure errs, in people")
    assert lines[1].strip() == "1. crr at eps 1: 3.00±0.10"
    assert lines[2].strip() == "2. grr at eps 2 *: 6.00±0.10, 2.00 times the first"


def test_rows_that_draws_do_not_tell_apart_say_so() -> None:
    rows = grr(2.0, 3.1, configured=True), crr(1.0, 3.0)
    found = ranked(report(*rows), "ldp")
    assert "draws do not tell apart" in list(in_words(report(*rows), found, None))[2]


def guess(error: float) -> Guess:
    return Guess("the mean of all figures", error, "Take a larger epsilon")


def test_a_constant_that_errs_less_is_a_warning() -> None:
    rows = grr(2.0, 6.0, configured=True), crr(1.0, 3.0)
    found = ranked(report(*rows), "ldp")
    assert "WARNING: a constant" in list(in_words(report(*rows), found, guess(2.9)))[-1]
    assert "WARNING" not in " ".join(in_words(report(*rows), found, guess(3.1)))


def test_equal_shares_and_the_mean_of_numbers_are_what_records_are_guessed_by() -> None:
    """Nine of ten are the first of two symbols; numbers of half units are 1 and 3."""
    sample: Any = SimpleNamespace(decoded=SimpleNamespace(values=np.array([0] * 9 + [1])))
    assert SymbolMeasure(["rest", "light"]).guess(sample).error == pytest.approx(40.0)
    numbers: Any = SimpleNamespace(decoded=SimpleNamespace(values=np.array([2, 6])))
    assert NumberMeasure(units_per_one=2).guess(numbers).error == pytest.approx(1.0)
