"""The proposal kernel for 0/1 (Hamming) distance."""

from dataclasses import dataclass

import numpy as np

from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.markov_model import ordered_sum
from fugu.operators.sip.proposals import Kernel, Mask, StayOrFill

TIE = 1e-12


@dataclass(frozen=True)
class HammingKernel(Kernel):
    """Propose for 0/1 distance: keep the most likely symbols, spread the rest.

    Constants: `gain` = e^eps - 1 and `growth` = e^eps.

    Sort the belief in descending order. For k = 1..n keep the first k symbols and let every other
    one take a common fill row that lifts the kept symbols towards 1/c, c = e^eps + 1, where the
    repair is free; k = 1 is the constant output. One more candidate keeps a further symbol
    partially. The candidate with the largest accuracy wins; within 1e-12 the larger k (uniform
    beliefs tie).

    Utility only: whatever is chosen, `ReleaseLaw.repaired` makes it private. Source: SIP
    specification section 3.1. All arrays are `(n, rows)`; O(n log n) per row, all rows at once.
    """

    gain: float
    growth: float

    def propose(self, belief: Floats) -> StayOrFill:
        ranked = _Ranked.of(belief, self.growth + 1.0)
        accuracy = self._accuracies(ranked)
        best = accuracy.max(axis=0)
        kept = len(belief) - (accuracy >= best - TIE)[::-1].argmax(axis=0)
        whole = _whole_candidate(belief, ranked, kept)
        partial = self._partial_candidate(belief, ranked, best)
        return whole if partial is None else whole.with_columns(*partial)

    def identity(self) -> tuple[str | int | bytes, ...]:
        return ()

    def _accuracies(self, ranked: "_Ranked") -> Floats:
        """Return P(released = true) for k = 1..n (first axis), closed forms of section 3.1."""
        beliefs, growth, gain = ranked.beliefs, self.growth, self.gain
        small = beliefs < ranked.floor
        squares = beliefs * beliefs
        running = np.add.accumulate
        big_squares = running(np.where(small, 0.0, squares), axis=0)
        small_squares = running(np.where(small, squares, 0.0), axis=0)
        small_mass = running(np.where(small, beliefs, 0.0), axis=0)
        small_count = running(small, axis=0, dtype=np.int64)
        kept, rest, deficit = ranked.kept_mass, ranked.rest, ranked.deficit
        surplus = np.maximum(0.0, rest - deficit)
        enough = (
            big_squares + ranked.floor * small_mass + beliefs[0] * surplus + gain * kept
        ) / growth
        share = np.where(rest < deficit, rest, 0.0) / np.where(deficit > 0.0, deficit, 1.0)
        lifted = small_count * ranked.floor - small_mass
        repaired_hit = (
            big_squares
            + small_mass
            - growth * (small_squares + share * (ranked.floor * small_mass - small_squares))
        )
        repaired_mass = (kept - small_mass) + small_count - growth * (small_mass + share * lifted)
        short = (repaired_hit + gain * kept) / (gain + repaired_mass)
        accuracy: Floats = np.where(rest >= deficit, enough, short)
        accuracy[0] = beliefs[0]
        return accuracy

    def _partial_candidate(
        self, belief: Floats, ranked: "_Ranked", best: Floats
    ) -> tuple[Integers, StayOrFill] | None:
        """Keep one more symbol with probability c s: the columns where that is better, and how."""
        symbols, rows = belief.shape
        lacking = (ranked.rest > ranked.deficit) & (ranked.deficit > 0.0)
        kept = np.where(lacking.any(axis=0), symbols - lacking[::-1].argmax(axis=0), 0)
        last, columns = np.maximum(kept - 1, 0), np.arange(rows)
        rest, deficit = ranked.rest[last, columns], ranked.deficit[last, columns]
        surplus = np.maximum(0.0, rest - deficit)
        next_rank = np.minimum(kept, symbols - 1)
        partial_belief = ranked.beliefs[next_rank, columns]
        floor = ranked.floor
        applies = (
            (kept > 0)
            & (kept < symbols)
            & (surplus < floor)
            & (rest >= floor)
            & (partial_belief < floor)
        )
        columns = np.flatnonzero(applies)
        if len(columns) == 0:
            return None
        belief, rank, kept = belief[:, columns], ranked.rank[:, columns], kept[columns]
        rest, deficit, surplus = rest[columns], deficit[columns], surplus[columns]
        partial_belief = partial_belief[columns]
        into_partial = surplus * (1.0 - (self.growth + 1.0) * partial_belief)
        into_partial = np.clip(into_partial / (rest - partial_belief), 0.0, 1.0)
        whole, partial = rank < kept, rank == kept
        lift = np.where(whole, np.maximum(0.0, floor - belief), 0.0) / deficit
        proposal = StayOrFill(
            support=whole | partial,
            own=np.where(partial, (self.growth + 1.0) * surplus, np.where(whole, 1.0, 0.0)),
            fill=np.where(partial, into_partial, (1.0 - into_partial) * lift),
            partial=partial,
            partial_fill=lift,
            constant=np.zeros_like(whole),
        )
        marginal = proposal.marginal(belief)
        mass = np.maximum(marginal, proposal.largest() - self.growth * marginal)
        mass = np.where(proposal.support, mass, 0.0)
        hit = ordered_sum(belief * mass) + self.gain * ordered_sum(belief * proposal.own)
        accuracy = hit / (self.gain + ordered_sum(mass))
        better = np.flatnonzero(accuracy > best[columns] + TIE)
        return (columns[better], proposal.columns(better)) if len(better) else None


@dataclass(frozen=True)
class _Ranked:
    """Hold beliefs in descending order and their running sums (B_k, R_k, D_k of section 3.1)."""

    beliefs: Floats
    rank: Integers
    floor: float
    kept_mass: Floats
    rest: Floats
    deficit: Floats

    @classmethod
    def of(cls, belief: Floats, ratio: float) -> "_Ranked":
        order = (-belief).argsort(axis=0, kind="stable")
        rank, columns = np.empty_like(order), np.arange(belief.shape[1])
        rank[order, columns] = np.arange(len(belief))[:, None]
        beliefs = belief[order, columns]
        kept_mass = np.add.accumulate(beliefs, axis=0)
        deficit = np.add.accumulate(np.maximum(0.0, 1.0 / ratio - beliefs), axis=0)
        rest = np.maximum(0.0, 1.0 - kept_mass)
        return cls(beliefs, rank, 1.0 / ratio, kept_mass, rest, deficit)


def _whole_candidate(belief: Floats, ranked: _Ranked, kept: Integers) -> StayOrFill:
    """Keep the first `kept` symbols of each column; the others take a common fill row."""
    columns = np.arange(belief.shape[1])
    support: Mask = ranked.rank < kept
    first = ranked.rank == 0
    rest = ranked.rest[kept - 1, columns]
    deficit = ranked.deficit[kept - 1, columns]
    lift = np.where(support, np.maximum(0.0, ranked.floor - belief), 0.0)
    scale = np.maximum(rest, deficit)
    fill = lift / np.where(scale > 0.0, scale, 1.0)
    fill = np.where(first, fill + np.maximum(0.0, 1.0 - ordered_sum(fill)), fill)
    constant = first & (kept == 1)
    return StayOrFill(
        support=support,
        own=np.where(support, 1.0, 0.0),
        fill=np.where(kept < len(belief), fill, 0.0),
        partial=np.zeros_like(support),
        partial_fill=np.zeros_like(belief),
        constant=constant,
    )
