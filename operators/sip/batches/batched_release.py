"""Batched release of symbols."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fugu.operators.budget_units import add_spent
from fugu.operators.columns import binding_digest, copied
from fugu.operators.digests import extended
from fugu.operators.guarantee import Guarantee
from fugu.operators.mechanism import (
    Array,
    ChargingMechanism,
    Draws,
    Floats,
    HoldingMechanism,
    Inputs,
    Integers,
    Kind,
    Releases,
    State,
    TimedMechanism,
)
from fugu.operators.randomness import draws_of
from fugu.operators.sip.batches.batch_law import share_of_truth
from fugu.operators.sip.batches.batch_plan import (
    BatchBindings,
    BatchPlan,
    BatchPlans,
    Part,
    extended_by_batch,
)
from fugu.operators.sip.batches.walk import STEPS, GapsInBatches, Walk
from fugu.operators.sip.distances import HAMMING, Distance, Points
from fugu.operators.sip.guarantees import crr_guarantees, with_gaps
from fugu.operators.sip.inputs import Gaps, checked_belief, checked_symbols, predicted
from fugu.operators.sip.kernels import Search
from fugu.operators.sip.markov_model import Chain
from fugu.operators.sip.privacy_bound import PREDICTIONS, Radius
from fugu.operators.whole_numbers import take_whole_numbers

LARGEST_WINDOW = 32


@dataclass(frozen=True, eq=False)
class BatchedRelease(ChargingMechanism, HoldingMechanism, TimedMechanism):
    """Hold `window` symbols of a stream back, then release them together.

    Claim. Every batch has an information leakage of at most `epsilon_per_batch` nats relative to
    the declared Markov model, whatever was released before: |ln a(r|o)/q(r)| <= epsilon_per_batch
    for every batch o of `window` symbols and every release r. Leakages of successive batches add up
    (Theorem 1), so a stream that spent E nats satisfies Sequence Information Privacy (SIP) with E
    relative to the model, and 2 E for *any* prior or correlation. The ledger counts what each batch
    really leaked. The claim is about whole numbers of words: there is no delta, nothing is charged
    for rounding, and every batch that is released at all has words for every truth (symbol sampling
    specification).

    Parameters: `model`, a chain of first or second order, strictly positive, n symbols; `window`, 1
    to 32 positions; `epsilon_per_batch` in nats, above 0 and at most 50. It is that of the *whole
    batch*: `window * epsilon` is the same total as one release per position with `epsilon`; less is
    usually worse than no batches. How useful releases are, never how private, is up to `distance`
    and `kernel` ("linear_program", the best law for up to 36 batches or groups of batches, or
    "heuristic"); see `batches.batch_plan`. With `gaps`, steps of the chain take time, and `elapse`
    brings streams to the time of their next record: a law then depends on the steps between the
    symbols of its batch, which are public (`batches.walk`).

    Input: symbol indices `(rows,)`, 0..n-1, one position at a time. Release: `(rows, window)`
    symbol indices at the last position of a batch; before, nothing (`Kind.SUPPRESSED`). Annotated
    with `confidence`, the expected share of true symbols in the batch given all releases.

    State: `belief (rows, states of the chain)` about the first position of the batch, `pending
    (rows, window - 1)` and `held (rows,)`, how many of these count, `releases`, `spent` and
    `history (rows,)`, a digest of what was released, to which draws are bound, and `predictions
    (rows,)` where the radius of the belief depends on how many there were (`belief_radius`). With
    `gaps`, `tick (rows,)` is when the last record came, and `steps (rows, window - 1)` how many the
    chain makes between positions. **`pending` holds true symbols: this state is private**, in
    memory and wherever it is stored. They are erased with the release.

    Raises `ValueError` for parameters outside their ranges, for a linear program without SciPy,
    and, in `step`, for a symbol outside 0..n-1 or a belief that is not a distribution.

    >>> from fugu.operators.sip.markov_model import MarkovModel
    >>> model = MarkovModel.smoothed([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], smoothing=0.001)
    >>> batched = BatchedRelease(model, window=2, epsilon_per_batch=2.0)
    >>> audit = batched.audit()
    >>> round(audit["first batch: expected distance per symbol"], 3), audit["algorithms"]
    (0.111, 'cluster_sequences')

    Source: Jiang, Li, Tandon 2024, section V; SIP specification section 8, which replaces Algorithm
    2.
    """

    model: Chain
    window: int
    epsilon_per_batch: float
    distance: Distance = HAMMING
    kernel: Search = "linear_program"
    gaps: Gaps | None = None

    kind: ClassVar[str] = "batched_crr"
    implementation: ClassVar[int] = 2

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        if not 1 <= self.window <= LARGEST_WINDOW:
            raise ValueError(f"window: must be 1 to {LARGEST_WINDOW} positions, not {self.window}")
        symbols = self.model.symbols
        if isinstance(self.distance, Points) and len(self.distance.coordinates) != symbols:
            raise ValueError(
                f"distance: has {len(self.distance.coordinates)} points, "
                f"but there are {symbols} symbols"
            )
        try:
            _ = self.radius
        except ValueError as error:
            refused = str(error).removeprefix("epsilon: ")
            raise ValueError(f"epsilon_per_batch: {refused}") from error

    def start(self, rows: int) -> State:
        return {
            **({} if self._in_time is None else self._in_time.start(rows)),
            "belief": np.tile(self.model.start, (rows, 1)),
            **self.radius.start(rows),
            "pending": np.zeros((rows, self.window - 1), dtype=np.int64),
            "held": np.zeros(rows, dtype=np.int64),
            "releases": np.zeros(rows, dtype=np.int64),
            "spent": np.zeros(rows, dtype=np.int64),
            "history": np.zeros(rows, dtype=np.uint64),
        }

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        symbols = checked_symbols(inputs, self.model.symbols)
        complete = state["held"] == self.window - 1
        held = np.concatenate([state["pending"], symbols[:, None]], axis=1)
        after = copied(state)
        waiting = np.flatnonzero(~complete)
        after["pending"][waiting, state["held"][waiting]] = symbols[waiting]
        after["held"][waiting] += 1
        releases = self._nothing(len(symbols))
        self._release(self._plan, np.flatnonzero(complete), held, after, releases, draws)
        return after, releases

    @property
    def tick_milliseconds(self) -> int | None:
        return None if self.gaps is None else self.gaps.step_milliseconds

    def elapse(self, state: State, ticks: Integers) -> State:
        return state if self._in_time is None else self._in_time.elapse(state, ticks)

    def holding(self, state: State) -> NDArray[np.bool_]:
        return np.asarray(state["held"] > 0)

    def finish(self, state: State, draws: Draws) -> tuple[State, Releases]:
        """Release what is held back of streams that have come to their end, shorter than a batch.

        h of w symbols are released with h/w of `epsilon_per_batch`; the other values are -1. The
        positions of `draws` must be none of those that `step` was called with. A stream that goes
        on begins its next batch.
        """
        after = copied(state)
        releases = self._nothing(len(state["held"]))
        for length in range(1, self.window):
            plan = self._plans.of_length(length)
            ending = np.flatnonzero(state["held"] == length)
            self._release(plan, ending, state["pending"], after, releases, draws)
            releases.values[ending, length:] = -1
        return after, releases

    def observe(self, state: State, released: Integers) -> tuple[State, Floats]:
        """Return what a reader learns from one batch per row: P(truth | releases so far) at each
        position, `(rows, window, n)`.

        It needs the model and the releases, nothing else. The mean over many records estimates the
        true shares of the symbols. A shorter batch at the end of a stream is filled up with -1, and
        nothing (nan) is learned there.
        """
        after, learned, _ = self._read(state, released, predicting=False)
        return after, learned

    def observe_and_predict(self, state: State, released: Integers) -> tuple[State, Floats, Floats]:
        """Return what `observe` does, and the probability under the model that a symbol is released
        at each position, given all releases before it, `(rows, window, n)`."""
        return self._read(state, released, predicting=True)

    def _read(
        self, state: State, released: Integers, *, predicting: bool
    ) -> tuple[State, Floats, Floats]:
        after = copied(state)
        learned = np.full((len(released), self.window, self.model.symbols), np.nan)
        expected = np.full_like(learned, np.nan) if predicting else learned[:, :0]
        lengths = (released >= 0).sum(axis=1)
        for length in np.unique(lengths).tolist():
            rows, plan = np.flatnonzero(lengths == length), self._plans.of_length(length)
            belief = checked_belief(state["belief"][rows])
            steps = self._steps(state, rows, length)
            for part in plan.parts(belief, self._distances(state)[rows], steps):
                its = rows[part.rows]
                shown = np.ascontiguousarray(released[its, :length].T)
                told = part.law.learned(shown)
                learned[its, :length] = told.transpose(2, 0, 1)
                if predicting:
                    expected[its, :length] = part.law.expected(shown).transpose(2, 0, 1)
                self._settle(after, its, shown, part.law.last_state(shown, told), part.law.charge)
        return after, learned, expected

    def laws(self, state: State, length: int) -> Iterator[Part]:
        """Yield the laws of the next batch of each row, if it has so many symbols."""
        plan, rows = self._plans.of_length(length), np.arange(len(state["held"]))
        steps = self._steps(state, rows, length)
        return plan.parts(checked_belief(state["belief"]), self._distances(state), steps)

    def draws(self, length: int) -> int:
        """Return how many words the release of so many symbols takes."""
        return self._plans.of_length(length).draws

    def skip(self, state: State, instead: Array) -> tuple[State, Releases]:
        """Predict only, past this position and those held back, whose symbols are forgotten.

        Nothing is said about what is published instead.
        """
        held = state["held"]
        steps = held + 1 if self._in_time is None else self._in_time.steps_past(state)
        after = {
            **state,
            **predicted(self.model, self.radius, state, steps),
            **self.radius.after(state),
            **({} if self._in_time is None else self._in_time.without_steps(state)),
            "pending": np.zeros_like(state["pending"]),
            "held": np.zeros_like(held),
            "history": extended(state["history"], -1 - held),
        }
        return after, Releases(instead, {"confidence": np.full(len(instead), np.nan)})

    def next_charge(self, state: State) -> Integers:
        """Return what covers the batch that comes next: the same at each of its positions.

        With gaps it is the most that a batch costs, since those to come are not known.
        """
        if self.gaps is not None:
            return np.full(len(state["held"]), self.largest_charge)
        charge = np.zeros(len(state["held"]), dtype=np.int64)
        belief, distance = checked_belief(state["belief"]), self._distances(state)
        for part in self._plan.parts(belief, distance):
            charge[part.rows] = part.law.charge
        return charge

    @property
    def largest_charge(self) -> int:
        return self._plan.bound.charge

    @cached_property
    def radius(self) -> Radius:
        """Return how far beliefs may be from the exact ones: a batch counts as one prediction."""
        return self._plans.radius

    @property
    def constant(self) -> Integers:
        """Return the most likely symbol at each of the first positions, a step apart."""
        belief, likely = self.model.start[:, None], []
        for _ in range(self.window):
            likely.append(int(np.argmax(self.model.marginal(belief)[:, 0])))
            belief = self.model.skip(belief)
        return np.array(likely)

    def guarantees(self) -> tuple[Guarantee, ...]:
        promised = crr_guarantees(epsilon=self.epsilon_per_batch, records=self.window)
        return promised if self.gaps is None else with_gaps(promised, self.gaps)

    def audit(self) -> Mapping[str, object]:
        belief = self.model.start[:, None]
        (part,) = self._plan.parts(belief, self.radius.distances([0]))
        return {
            "batches of symbols": float(self.model.symbols) ** self.window,
            "algorithms": ", ".join(
                str(algorithm.identity()[0]) for algorithm in self._plan.algorithms
            ),
            "first batch: expected distance per symbol": float(part.law.cost[0]) / self.window,
            "first batch: leakage in nats, at most": float(part.law.leakage[0]),
            "distance of a belief in doubles from the exact one, at most": (
                self.radius.most if isfinite(self.radius.most) else None
            ),
        }

    def law_digest(self) -> bytes:
        return binding_digest(
            self.kind,
            self.implementation,
            self.window,
            float(self.epsilon_per_batch).hex(),
            *self.model.identity(),
            self.kernel,
            *self._plan.identity(),
            *(() if self.gaps is None else self.gaps.identity()),
        )

    def _distances(self, state: State) -> Floats:
        """Return how far each belief may be from the exact one."""
        predictions = state.get(PREDICTIONS, np.zeros(len(state["held"]), dtype=np.int64))
        return self.radius.distances(predictions)

    def _steps(self, state: State, rows: Integers, length: int) -> Integers | None:
        """Return the steps between positions of the next batch, `(length - 1, rows)`, where they
        are not one each."""
        if self._in_time is None:
            return None
        return np.ascontiguousarray(state[STEPS][rows, : length - 1].T)

    @cached_property
    def _walk(self) -> Walk:
        return Walk(self.model, 1 if self.gaps is None else self.gaps.longest)

    @cached_property
    def _in_time(self) -> GapsInBatches | None:
        if self.gaps is None:
            return None
        return GapsInBatches(self.gaps, self.model, self.radius, self.window)

    @cached_property
    def _plans(self) -> BatchPlans:
        given = self._walk, self.window, self.epsilon_per_batch, self.distance, self.kernel
        return BatchPlans(*given)

    @property
    def _plan(self) -> BatchPlan:
        return self._plans.of_length(self.window)

    @cached_property
    def _bindings(self) -> BatchBindings:
        return BatchBindings(self.model.symbols, self.window)

    def _nothing(self, rows: int) -> Releases:
        return Releases(
            np.zeros((rows, self.window), dtype=np.int64),
            {"confidence": np.full(rows, np.nan)},
            np.full(rows, Kind.SUPPRESSED, dtype=np.int64),
        )

    def _release(
        self,
        plan: BatchPlan,
        rows: Integers,
        held: Integers,
        after: State,
        releases: Releases,
        draws: Draws,
    ) -> None:
        """Release the first symbols that are `held` of `rows`, into `after` and `releases`."""
        assert releases.kinds is not None
        if len(rows) == 0:
            return
        batches = np.ascontiguousarray(held[rows, : plan.window].T)
        bound = self._bindings.of(batches, after["history"][rows])
        words = draws_of(draws, rows, len(held)).words("release", bound, count=plan.draws)
        words = np.ascontiguousarray(words[:, 0, :].T)
        distance, steps = self._distances(after)[rows], self._steps(after, rows, plan.window)
        for part in plan.parts(checked_belief(after["belief"][rows]), distance, steps):
            its = rows[part.rows]
            released = part.law.release(batches[:, part.rows], words[:, part.rows])
            learned = part.law.learned(released)
            releases.values[its, : plan.window] = released.T
            releases.annotations["confidence"][its] = share_of_truth(learned, released)
            releases.kinds[its] = Kind.FRESH
            last = part.law.last_state(released, learned)
            self._settle(after, its, released, last, part.law.charge)

    def _settle(
        self, after: State, rows: Integers, released: Integers, last: Floats, charge: Integers
    ) -> None:
        """Move `rows` on from what was released; what they held back is erased."""
        after["belief"][rows] = self.model.skip(last).T
        for name, column in self.radius.after(after).items():
            after[name][rows] = column[rows]
        after["pending"][rows] = 0
        after["held"][rows] = 0
        if self._in_time is not None:
            after[STEPS][rows] = 1
        after["releases"][rows] += 1
        after["spent"][rows] = add_spent(after["spent"][rows], charge)
        after["history"][rows] = extended_by_batch(after["history"][rows], released)
