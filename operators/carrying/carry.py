"""Carry the streams of one mechanism over to another one: their rows, and their budgets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fugu.operators.budget import EXHAUSTED, LAST, WINDOW, Budgeted, without_budget
from fugu.operators.budget_units import LARGEST_SPENT, units_of
from fugu.operators.mechanism import (
    Array,
    EnumerableMechanism,
    Integers,
    Kind,
    Mechanism,
    Releases,
    RepeatingMechanism,
    State,
)
from fugu.operators.multi_step import IndependentReleases
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.sip.cold_start import ColdStart
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.planned_release import PlannedRelease
from fugu.operators.sip.robust_release import RobustRelease


def carried_budget(
    becomes: Budgeted, before: State, spent: Integers, factor: int, places: Integers | None
) -> State:
    """Return the columns of a budget for rows that have `spent` so much, `before` it or another.

    A window that becomes longer knows less of the past than it needs: what was spent before the
    positions that are known counts as spent at the newest of the others.
    """
    count = len(spent)
    fresh = becomes.start(count)
    columns = {LAST: _last(fresh[LAST], before.get(LAST), places)}
    if becomes.window is None:
        columns[EXHAUSTED] = before.get(EXHAUSTED, fresh[EXHAUSTED])
    else:
        known = before.get(WINDOW, np.zeros((count, 0), dtype=np.int64)) * factor
        columns[WINDOW] = _window(fresh[WINDOW], known, spent)
    return columns


def _last(constants: Array, before: Array | None, places: Integers | None) -> Array:
    """Return what is repeated: the last release, where the new law could have made it, too."""
    if before is None or places is None:
        return constants
    if before.ndim == constants.ndim == 1 and before.dtype == constants.dtype:
        return places[before]
    return constants


def _window(fresh: Integers, known: Integers, spent: Integers) -> Integers:
    length, old = fresh.shape[1], known.shape[1]
    if length <= old:
        return np.ascontiguousarray(known[:, old - length :])
    window = fresh.copy()
    window[:, length - old :] = known
    window[:, length - old - 1] = spent - known.sum(axis=1, dtype=np.int64)
    return window


Form = Literal["kept", "spent", "replayed"]
WITHOUT_A_MODEL = 2
"""A stream that has spent E nats relative to a model is 2 E-private under every prior."""


@dataclass(frozen=True)
class Carry:
    """Carry streams from the law that `was` to the one that it `becomes`.

    Claim. A stream goes on with `factor` times what it has spent, and the promise of the new law
    holds for all its releases together: old ones and new ones. Three `form`s of it are sound.

    - `kept`: the rows stay as they are, because the old law and the new one have the same belief.
      Either nothing changes but the budget; or epsilon, distance, mode or kernel of conditional
      randomized response (CRR) under the same model, or the same set of models, where the belief of
      a reader is the exact posterior under each of them, and leakages relative to it add up.
    - `spent`: the new law has no belief, and promises the same for every prior. What was spent
      without a model counts once. What was spent relative to a model counts twice.
    - `replayed`: CRR under another model, or set of models, begins with the exact posterior, under
      the new model, of all releases so far (`replayed_belief`). What was spent relative to another
      model counts twice, because only its promise for every prior says something to a reader with
      the new one.

    Budgets go on (`carried_budget`); a stream that was exhausted for good stays so. `places` holds
    the place of every old symbol in the new alphabet; None where releases are of another kind.

    >>> grr = GeneralizedRandomizedResponse(symbols=2, epsilon=1.0)
    >>> half = GeneralizedRandomizedResponse(symbols=3, epsilon=0.5)
    >>> carry = carry_between(grr, half, np.arange(2))
    >>> carry.form, carry.factor, carry.rows({"spent": np.array([2**40])})["spent"].tolist()
    ('spent', 1, [1099511627776])

    Source: SIP specification, sections 3 (rows differ by at most 2 epsilon), 6 and 7.
    """

    was: Mechanism
    becomes: Mechanism
    form: Form
    factor: int
    places: Integers | None

    def rows(self, before: State, replayed: State | None = None) -> State:
        """Return rows of the new law; `replayed` are those of CRR alone, after all releases."""
        count = len(next(iter(before.values())))
        inside = without_budget(self.becomes).start(count)
        if self.form == "kept":
            inside = {name: before[name] for name in inside}
        elif self.form == "replayed":
            assert replayed is not None
            inside = {**inside, **replayed}
        if "spent" in inside:
            inside["spent"] = self._spent(before)
        if not isinstance(self.becomes, Budgeted):
            return inside
        return {**inside, **self._budget(before)}

    def lasting(self, before: State) -> State:
        """Return what is kept of streams that are exhausted for good."""
        fresh = self.becomes.start(len(next(iter(before.values()))))
        carried = {**fresh, "spent": self._spent(before), **self._budget(before)}
        return {name: carried[name] for name in before}

    def beyond(self, before: State) -> int:
        """Return how many streams have spent more than the new law promises for a whole life."""
        promised = self.becomes.guarantees()[0]
        if promised.per != "stream" or "spent" not in before:
            return 0
        return int((self._spent(before) > units_of(promised.epsilon)).sum())

    def _spent(self, before: State) -> Integers:
        return np.minimum(before["spent"], LARGEST_SPENT // self.factor) * self.factor

    def _budget(self, before: State) -> State:
        assert isinstance(self.becomes, Budgeted)
        return carried_budget(self.becomes, before, self._spent(before), self.factor, self.places)


def carry_between(was: Mechanism, becomes: Mechanism, places: Integers | None) -> Carry:
    """Return how streams go on; `ValueError` says why they cannot.

    `places` is that of `Carry`, where both laws release symbols.
    """
    _refuse_budgets(was, becomes)
    before, after = without_budget(was), without_budget(becomes)
    same_symbols = places is None or (
        _symbols(before) == _symbols(after) and bool((places == np.arange(len(places))).all())
    )
    promised = before.guarantees()[0]
    factor = WITHOUT_A_MODEL if promised.notion == "sip" else 1
    if isinstance(after, IndependentReleases) and _counts(before) and promised.sound:
        return Carry(was, becomes, "spent", factor, places)
    if before.law_digest() == after.law_digest() and same_symbols:
        return Carry(was, becomes, "kept", 1, places)
    if not promised.sound:
        raise ValueError(f"{before.kind} promises nothing, so what was spent is not known")
    if type(after) in _FOLLOWING and places is not None:
        if same_symbols and _same_belief(before, after):
            return Carry(was, becomes, "kept", 1, places)
        if isinstance(before, _REPLAYED):
            refuse_replay(was, becomes)
            return Carry(was, becomes, "replayed", factor, places)
    raise ValueError(
        f"streams of {before.kind} cannot go on under {_named(before, after)}, because what "
        "readers know after the releases so far cannot be computed for it"
    )


_FOLLOWING = ConditionalRandomizedResponse, RobustRelease, PlannedRelease
"""Laws that may begin with what readers know of releases by others."""
_REPLAYED = GeneralizedRandomizedResponse, ConditionalRandomizedResponse, ColdStart


def _counts(mechanism: Mechanism) -> bool:
    """Return whether what a stream has spent so far is all that a sum needs to know."""
    return isinstance(mechanism, IndependentReleases | ConditionalRandomizedResponse | ColdStart)


def _same_belief(before: Mechanism, after: Mechanism) -> bool:
    """Return whether both laws have the same belief after the same releases by either."""
    both = before, after
    return all(type(law) in _FOLLOWING for law in both) and _belief(before) == _belief(after)


def _belief(law: Mechanism) -> tuple[object, ...]:
    """Return what a belief depends on besides releases: the model or set of models, and gaps."""
    assert isinstance(law, ConditionalRandomizedResponse)
    intervals = law.intervals.identity() if isinstance(law, RobustRelease) else None
    return law.model.identity(), intervals, None if law.gaps is None else law.gaps.identity()


def _refuse_budgets(was: Mechanism, becomes: Mechanism) -> None:
    if not isinstance(was, Budgeted):
        return
    if not isinstance(becomes, Budgeted):
        raise ValueError("budget: a budget stays; it may become larger or smaller")
    if was.window is None and becomes.window is not None:
        raise ValueError(
            "budget.window: a total over the whole life of a stream was promised, and one over a "
            "window promises less; delete budget.window"
        )


def refuse_replay(was: Mechanism, becomes: Mechanism) -> None:
    """Raise `ValueError` where releases of a law do not say what readers with a model know."""
    if not isinstance(without_budget(was), _REPLAYED):
        raise ValueError(f"what readers know after releases of {was.kind} cannot be computed")
    for mechanism in (was, becomes):
        inside = without_budget(mechanism)
        if isinstance(inside, ConditionalRandomizedResponse) and inside.gaps is not None:
            raise ValueError(
                "operator.step: when a release was made is not known any more, so what its readers "
                "know now cannot be computed; delete it"
            )
    if isinstance(was, Budgeted) and was.window is not None:
        raise ValueError(
            "budget.window: positions without a release are not in the sanitized topic, so what "
            "its readers know now cannot be computed"
        )


def _symbols(mechanism: Mechanism) -> int | None:
    found = getattr(mechanism, "symbols", None)
    if isinstance(mechanism, ConditionalRandomizedResponse):
        return mechanism.model.symbols
    return found


def _named(before: Mechanism, after: Mechanism) -> str:
    return f"another law of {after.kind}" if before.kind == after.kind else after.kind


def places_of(before: Sequence[object], after: Sequence[object]) -> Integers:
    """Return the place of every old symbol in the new alphabet; `ValueError` if one is missing.

    >>> places_of(["rest", "light"], ["light", "sleep", "rest"]).tolist()
    [2, 0]
    """
    where = {symbol: place for place, symbol in enumerate(after)}
    gone = [number for number, symbol in enumerate(before, start=1) if symbol not in where]
    if gone:
        raise ValueError(
            f"operator.alphabet: an alphabet may grow, but symbol {gone[0]} of the old one is not "
            "in the new one; releases of it could not be read any more"
        )
    return np.array([where[symbol] for symbol in before], dtype=np.int64)


def followed(mechanism: EnumerableMechanism, state: State, releases: Releases) -> State:
    """Return the rows after one release each; `ValueError` where one could not come next.

    A release that is fresh was paid for, and one that is repeated was not, unless the mechanism
    repeats by itself: then the number of the release in its law says which it is.
    """
    own = isinstance(mechanism, Budgeted) and isinstance(mechanism.mechanism, RepeatingMechanism)
    outcomes = releases.values
    if isinstance(mechanism, RepeatingMechanism):
        outcomes = mechanism.outcome_of(releases)
    laws = np.swapaxes(mechanism.release_law(state), 1, 2)
    possible = laws[np.arange(len(outcomes)), outcomes].any(axis=1)
    if isinstance(mechanism, Budgeted) and not own:
        assert releases.kinds is not None
        possible &= (releases.kinds == Kind.FRESH) == mechanism.pays(state)
    if not possible.all():
        raise ValueError("a release is none that a row could have made next")
    return mechanism.follow(state, outcomes)


def refuse_hidden_positions(mechanism: Mechanism) -> None:
    """Raise `ValueError` where a position without a release moves a row, and nothing shows it.

    Without a window a stream that could not pay releases nothing any more, so none follows.
    """
    if (
        isinstance(mechanism, Budgeted)
        and mechanism.window is not None
        and mechanism.when_exhausted == "suppress"
    ):
        raise ValueError(
            "budget.window with when_exhausted: suppress: positions without a release are not in "
            "the sanitized topic, so what was spent in the last positions cannot be known"
        )
