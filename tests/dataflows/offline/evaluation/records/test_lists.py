"""Lists of symbols, record by record, by hand."""

from collections.abc import Sequence

import numpy as np
import pytest

from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.records.symbols import (
    SymbolMeasure,
    SymbolUtility,
    record_by_record,
)
from fugu.operators.mechanism import Kind
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.markov_model import MarkovModel
from tests.dataflows.offline.evaluation.samples import run_of, sample_of

FRESH, REPEATED, NOTHING = Kind.FRESH, Kind.REPEATED, Kind.SUPPRESSED
SAMPLE = sample_of([0, 2, 1, 1, 0, 2, 1], streams=[0, 1, 0, 0, 1, 0, 0])
"""Stream 0 is 0, 1, 1, 2, 1; stream 1 is 2, 0."""
LISTS = [[0, 0], [0, 0], [0, 2], [0, 0], [2, 1], [1, 2], [1, 2]]
KINDS = [NOTHING, NOTHING, FRESH, NOTHING, FRESH, FRESH, REPEATED]
UNIFORM = MarkovModel.smoothed([1 / 3] * 3, [[1 / 3] * 3] * 3, 0.0)
PAIRS = Candidate("batched_crr", 1.0, BatchedRelease(UNIFORM, 2, 2.0, kernel="heuristic"))


def utility(kinds: Sequence[Kind], held_back: int = 0) -> SymbolUtility:
    confidence = [np.nan if kind != FRESH else 0.5 + 0.1 * n for n, kind in enumerate(kinds)]
    run = run_of(LISTS, kinds=kinds, confidence=confidence, held_back=held_back)
    return SymbolMeasure(["a", "b", "c"])(PAIRS, SAMPLE, [run])


def test_every_symbol_of_a_list_belongs_to_its_own_record() -> None:
    run = record_by_record(SAMPLE, run_of(LISTS, kinds=KINDS))
    assert run.releases.values.tolist() == [0, 2, 2, 1, 1, 2, 2]
    assert run.kinds.tolist() == [FRESH] * 6 + [REPEATED]


def test_a_list_says_as_much_about_each_of_its_records() -> None:
    told = utility(KINDS)
    # Wrong: the third record (2 for 1), the fifth (1 for 0), and the last list again (2 for 1).
    assert told.wrong is not None
    assert told.wrong.value == pytest.approx(3 / 7)
    assert told.expected_wrong == pytest.approx(1 - (0.7 + 0.9 + 1.0) / 3)
    assert told.of_these is not None
    assert told.of_these.value == pytest.approx(2 / 6), "the repeated list has no confidence"
    assert told.spending.repeated == pytest.approx(1 / 7)


def test_what_is_held_back_is_neither_wrong_nor_suppressed() -> None:
    told = utility([NOTHING, NOTHING, FRESH, NOTHING, FRESH, NOTHING, NOTHING], held_back=1)
    assert told.wrong is not None
    assert told.wrong.value == pytest.approx(2 / 4)
    assert told.spending.held_back == 1
    assert told.spending.suppressed == pytest.approx(2 / 7)
    assert told.tables()["Records without a fresh release"]["held back"] == "1"


def test_a_candidate_spends_a_records_share_of_a_list() -> None:
    assert PAIRS.name == "batched_crr of 2"
    assert PAIRS.per_release("sip") == pytest.approx(2.0)
    assert PAIRS.per_record("sip") == pytest.approx(1.0)
    assert PAIRS.per_record("ldp") == pytest.approx(2.0)
