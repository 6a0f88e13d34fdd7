"""From one law to another: what both leak is in the ledger, by exhaustive enumeration."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest

from fugu.operators.auditing.enumeration import Sequences
from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.carrying.carry import Carry, carry_between
from fugu.operators.carrying.replayed_belief import Span, replayed
from fugu.operators.guarantee import Guarantee
from fugu.operators.mechanism import (
    Draws,
    EnumerableMechanism,
    Floats,
    Inputs,
    Integers,
    Releases,
    State,
)
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.sip.cold_start import ColdStart
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.markov_model import Chain, MarkovModel
from fugu.operators.sip.model_sets import ModelIntervals
from fugu.operators.sip.planned_release import PlannedRelease
from fugu.operators.sip.robust_release import RobustRelease
from tests.operators.sip.chains import random_second_order
from tests.operators.sip.model_sets import constant_corners
from tests.privacy.chains import binary, random_chain
from tests.privacy.leakage import ROUNDING, about_truth, all_sequences

EARLY, LATE = 2, 2
RNG = np.random.default_rng(4)
MODELS: list[Chain] = [
    *(random_chain(RNG, symbols) for symbols in (2, 2, 3) for _ in range(4)),
    *(random_second_order(2, 2, seed).model() for seed in range(3)),
]


@dataclass(frozen=True, eq=False)
class Migrated(EnumerableMechanism):
    """The first releases of a stream by one law, and then what the carry makes of its rows."""

    carry: Carry

    kind = "migrated"
    implementation = 1

    @property
    def was(self) -> EnumerableMechanism:
        assert isinstance(self.carry.was, EnumerableMechanism)
        return self.carry.was

    @property
    def becomes(self) -> EnumerableMechanism:
        assert isinstance(self.carry.becomes, EnumerableMechanism)
        return self.carry.becomes

    @property
    def outcomes(self) -> tuple[int, int]:
        return self.was.outcomes

    def guarantees(self) -> tuple[Guarantee, ...]:
        return self.becomes.guarantees()

    def audit(self) -> Mapping[str, object]:
        return self.becomes.audit()

    def law_digest(self) -> bytes:
        return self.becomes.law_digest()

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        raise NotImplementedError("only laws are looked at")

    def start(self, rows: int) -> State:
        early = np.zeros((rows, 0), dtype=np.int64)
        return {**self.was.start(rows), "early": early}

    def release_law(self, state: State) -> Floats:
        now = self.was if self._is_early(state) else self.becomes
        return now.release_law(state)

    def follow(self, state: State, released: Integers) -> State:
        if not self._is_early(state):
            return {**self.becomes.follow(state, released), "early": state["early"]}
        after = self.was.follow(state, released)
        early = np.concatenate([state["early"], released[:, None]], axis=1)
        return {**(self.begun(after, early) if early.shape[1] == EARLY else after), "early": early}

    def begun(self, rows: State, early: Integers) -> State:
        """The rows of the next law."""
        if self.carry.form != "replayed":
            return self.carry.rows(rows)
        assert isinstance(self.becomes, ConditionalRandomizedResponse)
        symbols = range(self.outcomes[0])
        spans = [Span(self.was, symbols, None, list(early))]
        found, state = replayed(spans, self.becomes, symbols)
        assert (found["spent"] == rows["spent"]).all()
        return self.carry.rows(rows, state)

    def _is_early(self, state: State) -> bool:
        return bool(state["early"].shape[1] < EARLY)


class Forgetful(Migrated):
    """Begins the next law with the prior, as if nobody had read what was released before."""

    def begun(self, rows: State, early: Integers) -> State:
        fresh = self.becomes.start(len(early))
        return {**fresh, "spent": super().begun(rows, early)["spent"]}


def migrated(was: EnumerableMechanism, becomes: EnumerableMechanism) -> Carry:
    """The carry between two laws over the same symbols."""
    return carry_between(was, becomes, np.arange(was.outcomes[0]))


def crr(model: Chain, epsilon: float) -> ConditionalRandomizedResponse:
    return ConditionalRandomizedResponse(model, epsilon)


def paths_of(carry: Carry) -> Sequences:
    return all_sequences(Migrated(carry), EARLY + LATE)


def others(model: Chain) -> Chain:
    """Another model over as many symbols."""
    return random_chain(np.random.default_rng(17), model.symbols)


@pytest.mark.parametrize("model", MODELS, ids=range(len(MODELS)))
def test_another_epsilon_under_one_model_keeps_beliefs_and_adds_leakages_up(model: Chain) -> None:
    carry = migrated(crr(model, 1.5), crr(model, 0.4))
    assert (carry.form, carry.factor) == ("kept", 1)
    paths = paths_of(carry)
    assert (about_truth(paths, model) <= paths.spent + ROUNDING).all()
    assert (paths.about_streams() <= 2 * paths.spent + ROUNDING).all()


@pytest.mark.parametrize("model", MODELS, ids=range(len(MODELS)))
def test_releases_of_grr_count_once_under_a_model(model: Chain) -> None:
    for epsilon in (0.4, 1.5):
        was = GeneralizedRandomizedResponse(model.symbols, epsilon)
        carry = migrated(was, crr(model, epsilon))
        assert (carry.form, carry.factor) == ("replayed", 1)
        paths = paths_of(carry)
        assert (about_truth(paths, model) <= paths.spent + ROUNDING).all()
        assert paths.about_streams().max() <= (EARLY + 2 * LATE) * epsilon + ROUNDING


@pytest.mark.parametrize("model", MODELS, ids=range(len(MODELS)))
def test_what_was_spent_under_another_model_counts_twice(model: Chain) -> None:
    carry = migrated(crr(others(model), 1.0), crr(model, 1.0))
    assert (carry.form, carry.factor) == ("replayed", 2)
    paths = paths_of(carry)
    assert (about_truth(paths, model) <= paths.spent + ROUNDING).all()


@pytest.mark.parametrize("model", MODELS, ids=range(len(MODELS)))
def test_without_a_model_afterwards_nobody_learns_more_than_twice_and_once(model: Chain) -> None:
    carry = migrated(crr(model, 1.0), GeneralizedRandomizedResponse(model.symbols, 0.7))
    assert (carry.form, carry.factor) == ("spent", 2)
    paths = paths_of(carry)
    assert (paths.about_streams() <= paths.spent + ROUNDING).all()


def robust(model: MarkovModel, epsilon: float, share: float) -> RobustRelease:
    return RobustRelease(model, epsilon, intervals=ModelIntervals.around(model, share=share))


@pytest.mark.parametrize("stays", [0.5, 0.9, 0.97])
def test_a_set_of_models_goes_on_and_comes_after_other_laws(stays: float) -> None:
    """Relative to every member: also what others had released before."""
    model = binary(stays=stays, first=0.3)
    becomes, rows = robust(model, 1.0, share=0.1), ModelIntervals.around(model, share=0.1)
    for was, form, factor in (
        (robust(model, 0.4, share=0.1), "kept", 1),
        (robust(model, 1.0, share=0.05), "replayed", 2),
        (crr(binary(stays=0.6, first=0.5), 1.0), "replayed", 2),
        (GeneralizedRandomizedResponse(2, 0.7), "replayed", 1),
    ):
        carry = migrated(was, becomes)
        assert (carry.form, carry.factor) == (form, factor)
        paths = paths_of(carry)
        for member in constant_corners(rows):
            assert (about_truth(paths, member) <= paths.spent + ROUNDING).all()
    back = migrated(becomes, crr(model, 1.0))
    assert (back.form, back.factor) == ("replayed", 2)
    assert (about_truth(paths_of(back), model) <= paths_of(back).spent + ROUNDING).all()


@pytest.mark.slow
def test_planned_spending_goes_on_and_comes_after_other_laws() -> None:
    model = binary(stays=0.9, first=0.3)
    becomes = PlannedRelease(model, 1.0)
    assert becomes.plan is not None
    for was, form, factor in (
        (PlannedRelease(model, 0.5), "kept", 1),
        (crr(model, 0.4), "kept", 1),
        (crr(binary(stays=0.6, first=0.5), 1.0), "replayed", 2),
        (GeneralizedRandomizedResponse(2, 0.7), "replayed", 1),
    ):
        carry = migrated(was, becomes)
        assert (carry.form, carry.factor) == (form, factor)
        paths = paths_of(carry)
        assert (about_truth(paths, model) <= paths.spent + ROUNDING).all()


def test_a_stream_that_learned_its_own_model_goes_on_under_a_pooled_one() -> None:
    for model in MODELS[:4]:
        was = ColdStart(model.symbols, 1.0, positions=1, when_short="accept")
        paths = paths_of(migrated(was, crr(model, 1.0)))
        assert (about_truth(paths, model) <= paths.spent + ROUNDING).all()


def test_counting_what_was_spent_under_another_model_once_is_too_little() -> None:
    """The attack that the factor of two is there for."""
    model, other = binary(stays=0.98, first=0.03), binary(stays=0.5, first=0.7)
    carry = replace(migrated(crr(other, 1.0), crr(model, 1.0)), factor=1)
    paths = paths_of(carry)
    assert (about_truth(paths, model) - paths.spent).max() > 1.3


def test_counting_what_was_spent_under_a_model_once_is_too_little_without_one() -> None:
    model = binary(stays=0.6, first=0.65)
    carry = migrated(crr(model, 1.0), GeneralizedRandomizedResponse(2, 0.7))
    paths = paths_of(replace(carry, factor=1))
    assert (paths.about_streams() - paths.spent).max() > 0.1


def test_a_next_law_that_begins_with_the_prior_leaks_more_than_its_ledger_says() -> None:
    model = binary(stays=0.9, first=0.95)
    carry = migrated(GeneralizedRandomizedResponse(2, 2.0), crr(model, 2.0))
    paths = all_sequences(Forgetful(carry), EARLY + LATE)
    assert (about_truth(paths, model) - paths.spent).max() == pytest.approx(0.129, abs=0.001)


def test_laws_one_after_another_are_followed_through_all_of_them() -> None:
    """The belief under the last model is the posterior of all releases, whoever drew them."""
    first, second, last = MODELS[0], MODELS[1], MODELS[2]
    grr = GeneralizedRandomizedResponse(2, 1.0)
    spans = [
        Span(grr, "ab", None, [np.array([0, 1])]),
        Span(crr(first, 1.0), "ab", None, [np.array([1])]),
        Span(crr(first, 0.5), "ab", None, [np.array([1, 0])]),
        Span(crr(second, 0.5), "ab", None, [np.array([0])]),
    ]
    target = crr(last, 1.0)
    found, state = replayed(spans, target, "ab")
    assert state["releases"].tolist() == [6]
    again, belief = found["spent"], state["belief"]
    at_once, _ = replayed(spans[:3], crr(second, 0.5), "ab")
    assert (again > at_once["spent"]).all(), "what came before is counted in it"

    symbols = np.indices((2,) * 6).reshape(6, -1)
    prior = np.array([_chance(last, truth) for truth in symbols.T])
    likelihood = np.ones(len(prior))
    step, rows_before = 0, grr.start(1)
    for number, span in enumerate(spans):
        rows = rows_before
        if number > 0:
            carry = carry_between(spans[number - 1].law, span.law, np.arange(2))
            assert isinstance(span.law, ConditionalRandomizedResponse)
            so_far = replayed(spans[:number], span.law, "ab")[1] if number != 2 else None
            rows = carry.rows(rows_before, so_far)
        for released in span.released[0].tolist():
            likelihood *= span.law.release_law(rows)[0, symbols[step], released]
            rows = span.law.follow(rows, np.array([released]))
            step += 1
        rows_before = rows
    posterior = prior * likelihood / (prior * likelihood).sum()
    last_symbol = np.array([posterior[symbols[-1] == symbol].sum() for symbol in range(2)])
    expected = last.advance(np.zeros((2, 1)), last_symbol[:, None])[:, 0]
    assert belief[0] == pytest.approx(expected, rel=1e-9)
    assert (rows_before["spent"] == found["spent"]).all()
    assert found["spent"][0] < 20 * UNITS_PER_NAT


def _chance(model: Chain, truth: Integers) -> float:
    matrix = np.array([model.advance(np.zeros((2, 1)), row[:, None])[:, 0] for row in np.eye(2)])
    chance = float(model.marginal(model.start[:, None])[truth[0], 0])
    for now, following in pairwise(truth.tolist()):
        chance *= matrix[now, following]
    return chance
