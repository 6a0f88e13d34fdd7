"""Read releases with public parameters alone."""

from dataclasses import dataclass

import numpy as np
import pytest

from fugu.operators.budget import Budgeted, WhenExhausted
from fugu.operators.estimates import stream_reports
from fugu.operators.estimates.model_check import ModelCheck, SurpriseSums
from fugu.operators.estimates.shares import (
    CountReader,
    DifferenceReader,
    PosteriorReader,
    PredictingReader,
    ShareReader,
    checked_reader,
    share_reader,
)
from fugu.operators.mechanism import (
    Array,
    ChargingMechanism,
    Inputs,
    Integers,
    Kind,
    Mechanism,
    Releases,
    RepeatingMechanism,
    State,
)
from fugu.operators.randomness import DrawScope, Secret, record_positions
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.cold_start import ColdStart
from fugu.operators.sip.conditional_randomized_response import (
    ConditionalRandomizedResponse,
    PaperConditionalRandomizedResponse,
)
from fugu.operators.sip.distances import Ordered
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.planar_isotropic_response import PlanarIsotropicResponse
from tests.conformance.kinds import KINDS
from tests.operators.estimates.test_model_check import EACH, MODEL, USERS, of_the_model
from tests.operators.noise.simulated import SimulatedDraws

FRESH, REPEATED, SUPPRESSED = Kind.FRESH, Kind.REPEATED, Kind.SUPPRESSED
STICKY = MarkovModel.smoothed([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], smoothing=0.001)
CRR = ConditionalRandomizedResponse(STICKY, epsilon=1.0)
ADAPTIVE = AdaptiveRelease(STICKY, decision_epsilon=1.0, release_epsilon=1.0)
TRUTHS = np.array([0, 1, 1])


@dataclass(frozen=True)
class Law:
    symbols: int
    reported_if_true: float
    reported_if_other: float


def releases(values: list[object], *kinds: Kind) -> Releases:
    return Releases(np.array(values), kinds=np.array(kinds))


@dataclass(frozen=True)
class Position:
    """One position of three streams: what was released, what was told, and what is known after."""

    released: Releases
    told: Array
    state: State
    known: State

    @property
    def kinds(self) -> Array:
        return np.asarray(self.released.kinds)


def followed(mechanism: Mechanism, positions: int) -> list[Position]:
    """Three streams of constant symbols, and a reader of what they release."""
    reader = share_reader(mechanism)
    assert reader is not None
    scope = DrawScope(Secret(bytes(32)), "demo", mechanism.kind, 1, mechanism.law_digest())
    state, known = mechanism.start(3), reader.start(3)
    found = []
    for position in record_positions("vitals", 0, range(positions)):
        draws = scope.draws([b"a", b"b", b"c"], [position] * 3)
        state, released = mechanism.step(state, Inputs(TRUTHS), draws)
        if released.kinds is None:
            released = Releases(released.values, released.annotations, np.full(3, FRESH))
        known, told = reader.read(known, released)
        found.append(Position(released, told, state, known))
    return found


@pytest.mark.parametrize("inside", [CRR, ADAPTIVE])
def test_a_reader_follows_a_stream_through_a_budget_as_the_mechanism_does(
    inside: ConditionalRandomizedResponse | AdaptiveRelease,
) -> None:
    seen = set()
    for at in followed(Budgeted(inside, total=2.5, window=4), 12):
        assert at.known["belief"].tolist() == at.state["belief"].tolist()
        says = ~np.isnan(at.told[:, 0])
        shown = at.released.values[says]
        confidence = at.released.annotations["confidence"][says]
        assert at.told[says, shown] == pytest.approx(confidence)
        seen |= set(zip(at.kinds.tolist(), says.tolist(), strict=True))
    own_decision = {(REPEATED, True)} if inside is ADAPTIVE else set()
    assert seen == {(FRESH, True), (REPEATED, False)} | own_decision


@pytest.mark.parametrize("instead", ["repeat", "constant", "suppress"])
def test_lists_are_read_record_by_record_through_a_budget(instead: WhenExhausted) -> None:
    batched = BatchedRelease(STICKY, window=3, epsilon_per_batch=2.0)
    budgeted = Budgeted(batched, total=2.1, window=5, when_exhausted=instead)
    seen, silent = 0, 0
    for at in followed(budgeted, 24):
        fresh = at.kinds == FRESH
        assert (fresh == ~np.isnan(at.told).any(axis=(1, 2))).all()
        assert at.known["belief"][fresh].tolist() == at.state["belief"][fresh].tolist()
        for row in np.flatnonzero(fresh):
            of_released = at.told[row][np.arange(3), at.released.values[row]]
            assert of_released.mean() == pytest.approx(at.released.annotations["confidence"][row])
        assert (at.known["pending"] == 0).all()
        seen += int(fresh.sum())
        silent += int((at.kinds == SUPPRESSED).sum())
    held_back = 2 * seen + int(at.state["held"].sum())
    assert 6 < seen < 24
    assert (silent > held_back) == (instead == "suppress"), "the budget skipped some"


def test_a_learning_stream_is_counted_first_and_believed_later() -> None:
    cold = ColdStart(symbols=2, epsilon=1.0, positions=3, when_short="accept")
    counts = CountReader(GeneralizedRandomizedResponse(symbols=2, epsilon=1.0))
    for number, at in enumerate(followed(cold, 6)):
        early = number < 3
        confidence = at.released.annotations["confidence"]
        assert np.isnan(confidence).all() == early
        if early:
            assert at.told.tolist() == counts.read({}, at.released)[1].tolist()
        else:
            assert at.told[np.arange(3), at.released.values] == pytest.approx(confidence)


def test_a_difference_reader_keeps_the_same_belief() -> None:
    crr = ConditionalRandomizedResponse(STICKY, epsilon=1.0)
    readers: list[ShareReader] = [PosteriorReader(crr), DifferenceReader(crr)]
    states = [reader.start(2) for reader in readers]
    for values, kinds in [([0, 1], (FRESH, FRESH)), ([0, 0], (REPEATED, FRESH))] * 3:
        given = releases(list(values), *kinds)
        before = states[1]["belief"]
        told = []
        for number, reader in enumerate(readers):
            states[number], said = reader.read(states[number], given)
            told.append(said)
        assert states[0]["belief"].tolist() == states[1]["belief"].tolist()
        fresh = given.kinds == FRESH
        law = crr.law(before[fresh].T)
        assert told[1][fresh].tolist() == law.report(given.values[fresh]).T.tolist()
        assert told[1][fresh].sum(axis=1) == pytest.approx(1.0)
        assert np.isnan(told[1][~fresh]).all()
        assert told[0].shape == told[1].shape


def test_counts_of_symbols_are_corrected_release_by_release() -> None:
    reader = CountReader(Law(symbols=3, reported_if_true=0.6, reported_if_other=0.2))
    state, told = reader.read(reader.start(3), releases([2, 0, 1], FRESH, FRESH, REPEATED))
    assert state == {}
    assert told[:2] == pytest.approx(np.array([[-0.5, -0.5, 2.0], [2.0, -0.5, -0.5]]))
    assert np.isnan(told[2]).all(), "it says nothing new"
    counts = np.array([1, 0, 1])
    assert told[:2].mean(axis=0) == pytest.approx((counts / 2 - 0.2) / (0.6 - 0.2))


def test_counts_of_sets_are_corrected_bit_by_bit() -> None:
    reader = CountReader(Law(symbols=2, reported_if_true=0.5, reported_if_other=0.25))
    sets: list[object] = [[True, True], [False, True], [True, False]]
    _, told = reader.read(reader.start(3), releases(sets, FRESH, FRESH, REPEATED))
    assert told[:2] == pytest.approx(np.array([[3.0, 3.0], [-1.0, 3.0]]))


def takes_symbols(kind: str) -> bool:
    accepted = KINDS[kind].examples()[0].accepted
    return np.array_equal(accepted, np.arange(len(accepted)))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if takes_symbols(kind)])
def test_mechanisms_of_symbols_can_be_read(kind: str) -> None:
    assert share_reader(KINDS[kind].examples()[0].mechanism) is not None


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not takes_symbols(kind)])
def test_numbers_and_payloads_have_no_shares(kind: str) -> None:
    assert share_reader(KINDS[kind].examples()[0].mechanism) is None


# Check releases against laws and beliefs, with a budget too.


MECHANISMS: dict[str, ChargingMechanism] = {
    "paper": PaperConditionalRandomizedResponse(MODEL, epsilon=1.0),
    "adaptive": AdaptiveRelease(MODEL, decision_epsilon=0.5, release_epsilon=1.0),
    "batched": BatchedRelease(MODEL, window=2, epsilon_per_batch=2.0, kernel="heuristic"),
    "pim": PlanarIsotropicResponse(MODEL, epsilon=1.0, delta=0.05, distance=Ordered()),
}


def checked(mechanism: ChargingMechanism, truth: Integers, total: float | None) -> ModelCheck:
    """Release the truth, and compare the releases with the model."""
    given = mechanism if total is None else Budgeted(mechanism, total)
    draws, state = SimulatedDraws(np.random.default_rng(1)), given.start(len(truth))
    values, kinds = [], []
    for step in range(truth.shape[1]):
        state, releases = given.step(state, Inputs(truth[:, step]), draws)
        fresh = np.full(len(truth), Kind.FRESH)
        values.append(releases.values)
        kinds.append(fresh if releases.kinds is None else releases.kinds)
    shown = Releases(np.concatenate(values), kinds=np.concatenate(kinds))
    outcomes, count = shown.values, MODEL.symbols
    if isinstance(mechanism, RepeatingMechanism):
        outcomes, count = mechanism.outcome_of(shown), 2 * MODEL.symbols
    reader = checked_reader(given)
    assert isinstance(reader, PredictingReader)
    assert reader.outcomes == count
    sums = SurpriseSums(count)
    streams = np.tile(np.arange(len(truth)), truth.shape[1])
    for told in stream_reports.told_by_streams(reader, streams, shown):
        its = told.places
        assert np.nansum(told.surprises, axis=-1) == pytest.approx(0.0, abs=1e-9)
        sums.add(streams[its], outcomes[its], told.surprises, told.variances)
    return sums.check()


@pytest.mark.parametrize("total", [None, 8.0])
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_right_model_raises_no_alarm_and_a_wrong_one_does(name: str, total: float | None) -> None:
    mechanism = MECHANISMS[name]
    right = checked(mechanism, of_the_model(seed=3), total)
    assert not right.alarm
    assert (right.symbols == USERS * EACH) == (total is None), "what is not paid for says nothing"
    assert right.symbols > USERS
    assert len(right.deviations) > 3
    if total is None:
        uniform = np.random.default_rng(0).integers(0, 3, (USERS, EACH))
        assert checked(mechanism, uniform, total).alarm


def test_large_alphabets_are_read_without_a_check() -> None:
    size = 33
    model = type(MODEL).smoothed([1 / size] * size, [[1 / size] * size] * size, smoothing=0.0)
    many = AdaptiveRelease(model, decision_epsilon=0.5, release_epsilon=1.0)
    assert not isinstance(checked_reader(many), PredictingReader)


@pytest.mark.parametrize("name", MECHANISMS)
def test_no_more_numbers_are_held_than_the_limit_however_much_a_release_tells(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit, users, each = 2_000, 30, 10
    monkeypatch.setattr(stream_reports, "_TOLD_AT_ONCE", limit)
    reader = checked_reader(MECHANISMS[name])
    assert reader is not None
    shape = (users * each, 2) if name == "batched" else (users * each,)
    kinds = np.full(users * each, Kind.FRESH)
    shown = Releases(np.zeros(shape, dtype=np.int64), kinds=kinds)
    streams = np.tile(np.arange(users), each)
    sizes = [
        sum(column.size for column in (one.reports, one.noise, one.surprises, one.variances))
        for one in stream_reports.told_by_streams(reader, streams, shown)
    ]
    assert len(sizes) > 1
    assert max(sizes) <= limit
