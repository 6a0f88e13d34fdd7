"""Compare kinds where they can be compared, and say where they cannot."""

from pathlib import Path

import numpy as np
import pytest

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.offline.evaluation.candidates import parse_epsilons
from fugu.dataflows.offline.evaluation.records.grid import (
    candidates,
    default_epsilons,
    default_rivals,
)
from fugu.dataflows.offline.evaluation.records.symbols import declared_distance
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.operators.budget import Budgeted
from fugu.operators.sip.distances import HAMMING, Distance, Ordered, Points
from fugu.operators.sip.planar_isotropic_response import PlanarIsotropicResponse
from tests.dataflows.offline.evaluation.live import OPERATORS
from tests.dataflows.offline.evaluation.samples import POWER, pipeline
from tests.dataflows.pipeline.pipeline_files import PIPELINE, with_change

PLACES = Points(np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))


def test_by_default_half_once_and_twice_the_configured_epsilon(tmp_path: Path) -> None:
    assert default_epsilons(pipeline(tmp_path)) == [0.5, 1.0, 2.0]
    largest = with_change("epsilon: 1.0", "epsilon: 30")
    assert default_epsilons(pipeline(tmp_path, largest)) == [15.0, 30.0], "60 is refused by crr"


def test_by_default_rivals_read_the_same_values(tmp_path: Path) -> None:
    crr = default_rivals(pipeline(tmp_path), [1.0])
    assert [rival.name for rival in crr] == [
        "paper_crr",
        "batched_crr of 2",
        "adaptive_crr",
        "cold_start_crr",
        "grr",
        "oue",
        "lrm",
    ]
    assert [rival.kind for rival in default_rivals(pipeline(tmp_path, POWER), [1.0])] == [
        "staircase"
    ]
    without_model = default_rivals(pipeline(tmp_path, OPERATORS["cold_start_crr"]), [1.0])
    assert [rival.kind for rival in without_model] == ["grr", "oue", "lrm"]


def test_pim_is_a_rival_where_there_is_a_nearest_symbol(tmp_path: Path) -> None:
    placed = with_change("  model: model.json", "  model: model.json\n  distance: ordered")
    rivals = default_rivals(pipeline(tmp_path, placed), [1.0])
    [pim] = [rival.mechanism for rival in rivals if rival.kind == "pim"]
    assert isinstance(pim, PlanarIsotropicResponse)
    assert (pim.epsilon, pim.distance) == (1.0, Ordered())


def test_rivals_are_left_out_where_they_cannot_take_an_epsilon(tmp_path: Path) -> None:
    largest = default_rivals(pipeline(tmp_path), [20.0, 30.0])
    batched = [rival.epsilon for rival in largest if rival.kind == "batched_crr"]
    assert batched == [20.0], "a list of two would take 60 nats"
    many = PIPELINE.replace("[rest, light, vigorous]", str(list(range(17))))
    many = many.replace("crr\n", "grr\n").replace("  model: model.json\n", "")
    assert [rival.kind for rival in default_rivals(pipeline(tmp_path, many), [1.0])] == [
        "oue",
        "lrm",
    ]


@pytest.mark.parametrize("own", OPERATORS)
@pytest.mark.parametrize("kind", ["crr", "batched_crr", "adaptive_crr", "cold_start_crr", "grr"])
def test_equal_epsilons_are_equal_nats_per_record(own: str, kind: str, tmp_path: Path) -> None:
    file = pipeline(tmp_path, OPERATORS[own])
    if own == "cold_start_crr" and kind not in (own, "grr"):
        with pytest.raises(FuguError, match=r"needs operator\.model, which the pipeline file"):
            candidates(file, [1.2], [kind])
        return
    found = [one for one in candidates(file, [0.6, 1.2], [kind]) if one.kind == kind]
    assert [one.epsilon for one in found] == [0.6, 1.2]
    assert [one.per_record("sip") for one in found] == pytest.approx([0.6, 1.2], rel=1e-5)


def test_the_pipelines_own_proportions_are_kept(tmp_path: Path) -> None:
    batched = pipeline(tmp_path, OPERATORS["batched_crr"])
    [half, own] = candidates(batched, [0.5, 1.0], [])
    assert half.settings == {"window": 3, "epsilon_per_batch": 1.5}
    assert own.mechanism.law_digest() == configure(batched).mechanism.law_digest()
    adaptive = pipeline(tmp_path, OPERATORS["adaptive_crr"])
    [half, own] = candidates(adaptive, [0.75, 1.5], [])
    assert half.settings == {"decision_epsilon": 0.25, "epsilon": 0.5}
    assert own.mechanism.law_digest() == configure(adaptive).mechanism.law_digest()


@pytest.mark.parametrize(
    ("distance", "declared"),
    [
        ("hamming", HAMMING),
        ("ordered", Ordered()),
        ("{points: [[0, 0], [3, 4], [0, 1]]}", PLACES),
    ],
)
def test_rivals_are_to_keep_the_same_distance_small(
    distance: str, declared: Distance, tmp_path: Path
) -> None:
    text = with_change("  model: model.json\n", f"  model: model.json\n  distance: {distance}\n")
    file = pipeline(tmp_path, text + "budget: {total: 9}\n")
    own, *others, _ = candidates(
        file, [1.0], ["batched_crr", "adaptive_crr", "cold_start_crr", "paper_crr"]
    )
    for one in (own, *others):
        assert declared_distance(one.unbudgeted).identity() == declared.identity()


def test_steps_of_a_decision_are_places_in_the_alphabet(tmp_path: Path) -> None:
    steps = OPERATORS["adaptive_crr"].replace("  model:", "  distance: steps\n  model:")
    own, crr, batched = candidates(pipeline(tmp_path, steps), [1.5], ["crr", "batched_crr"])
    for one in (own, crr, batched):
        assert declared_distance(one.mechanism) == Ordered()


def test_the_pipelines_own_operator_comes_first_and_is_the_live_one(tmp_path: Path) -> None:
    file = pipeline(tmp_path, PIPELINE + "budget: {total: 5}\n")
    grid = candidates(file, [0.5, 1.0], ["paper_crr", "crr"])
    assert [(one.kind, one.epsilon, one.sound) for one in grid] == [
        ("crr", 0.5, True),
        ("crr", 1.0, True),
        ("paper_crr", 0.5, False),
        ("paper_crr", 1.0, False),
    ]
    assert grid[1].mechanism.law_digest() == configure(file).mechanism.law_digest()
    assert all(isinstance(one.mechanism, Budgeted) for one in grid), "rivals have the same budget"


def test_each_candidate_states_its_nats_without_and_with_the_model(tmp_path: Path) -> None:
    file = pipeline(tmp_path, PIPELINE + "budget: {total: 5}\n")
    crr, paper = candidates(file, [1.0], ["paper_crr"])
    assert crr.per_release("ldp") == pytest.approx(2.0)
    assert crr.per_release("sip") == pytest.approx(1.0)
    assert crr.per_stream("ldp") == pytest.approx(10.0)
    assert crr.per_stream("sip") == pytest.approx(5.0)
    assert paper.per_release("ldp") is None
    assert paper.per_release("sip") is None
    [laplace] = candidates(pipeline(tmp_path, POWER), [1.0], [])
    assert laplace.per_release("sip") == laplace.per_release("ldp") == 1.0, "ldp implies sip"
    assert laplace.per_stream("ldp") is None


def test_a_pipeline_that_would_stop_goes_on_without_releases(tmp_path: Path) -> None:
    budget = "budget: {total: 5, when_exhausted: stop}\n"
    [candidate] = candidates(pipeline(tmp_path, PIPELINE + budget), [1.0], [])
    assert isinstance(candidate.mechanism, Budgeted)
    assert candidate.mechanism.when_exhausted == "suppress"


def test_epsilons_are_sorted_and_tried_once() -> None:
    assert parse_epsilons("2, 0.5,2.0") == [0.5, 2.0]


@pytest.mark.parametrize("text", ["", "0", "1,", "one", "1,-2", "nan", "inf"])
def test_epsilons_that_are_no_positive_numbers_are_refused(text: str) -> None:
    with pytest.raises(FuguError, match=r"with commas between them, such as 0\.5,1,2"):
        parse_epsilons(text)


@pytest.mark.parametrize(
    ("text", "epsilon", "rival", "says"),
    [
        (PIPELINE, 51.0, "crr", "--epsilons 51: crr cannot take it (epsilon must be at most 50)"),
        (PIPELINE, 1.0, "laplace", "reads the same values as crr. Write some of: crr, paper_crr"),
        (POWER, 1.0, "gauss", "reads the same values as laplace. Write some of: laplace"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    text: str, epsilon: float, rival: str, says: str, tmp_path: Path
) -> None:
    with pytest.raises(FuguError) as caught:
        candidates(pipeline(tmp_path, text), [epsilon], [rival])
    assert says in str(caught.value)
