"""The check of peers' outputs: right ones pass, wrong ones fail."""

import sys
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from bench.comparison.data import ALPHABET, EPSILON, model_document, model_of
from bench.comparison.law_check import Checked, WrongOutput, compare_with_law
from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse

PEERS = Path(__file__).parents[2] / "bench" / "peers"
USERS, RECORDS = 200, 12


@pytest.fixture
def peer_step(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The class that peers use."""
    monkeypatch.syspath_prepend(PEERS)
    module = import_module("crr_step")
    monkeypatch.delitem(sys.modules, "crr_step")
    return module.ConditionalRandomizedResponse


def run(
    peer_step: Any, epsilon: float, *, forgets: bool = False
) -> tuple[Integers, Integers, Floats]:
    """Truth, releases and confidences of users, one user after the other."""
    model, random = model_document(ALPHABET), Random(5)
    step = peer_step(ALPHABET, model["prior"], model["transition"], epsilon, model["smoothing"])
    true, released, confidences = [], [], []
    for _ in range(USERS):
        symbol, belief = random.randrange(len(ALPHABET)), step.start()
        for _ in range(RECORDS):
            if forgets:
                belief = step.start()
            if random.random() > 0.8:
                symbol = random.randrange(len(ALPHABET))
            out, confidence = step.release(belief, symbol, random.random())
            true.append(symbol)
            released.append(out)
            confidences.append(round(confidence, 4))
    return np.array(true), np.array(released), np.array(confidences)


def compare(true: Integers, released: Integers, confidences: Floats) -> Checked:
    starts = np.arange(USERS) * RECORDS
    law = ConditionalRandomizedResponse(model_of(ALPHABET), EPSILON)
    counts = np.full(USERS, RECORDS)
    return compare_with_law(law, counts, released, confidences, starts, true, starts)


def test_releases_of_the_law_pass(peer_step: Any) -> None:
    assert compare(*run(peer_step, EPSILON)).compared == USERS * RECORDS


@pytest.mark.parametrize("planted", ["another epsilon", "a belief that never moves"])
def test_another_law_is_found(peer_step: Any, planted: str) -> None:
    epsilon = 1.2 * EPSILON if planted == "another epsilon" else EPSILON
    wrong = run(peer_step, epsilon, forgets=planted == "a belief that never moves")
    with pytest.raises(WrongOutput):
        compare(*wrong)


def test_releases_of_other_records_are_found(peer_step: Any) -> None:
    true, released, confidences = run(peer_step, EPSILON)
    with pytest.raises(WrongOutput, match="not drawn from the law"):
        compare(np.random.default_rng(6).permutation(true), released, confidences)


def test_the_truth_in_place_of_a_release_is_found(peer_step: Any) -> None:
    true, _, confidences = run(peer_step, EPSILON)
    with pytest.raises(WrongOutput):
        compare(true, true, confidences)
