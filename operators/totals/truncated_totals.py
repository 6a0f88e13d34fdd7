"""Totals of numbers that are cut off at a threshold which is learned privately: ToPS."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar, NamedTuple

import numpy as np

from fugu.operators.budget_units import in_nats
from fugu.operators.columns import binding_digest
from fugu.operators.guarantee import (
    ARRIVALS,
    CORRELATION,
    KEYED_HASH,
    RANGE,
    RAW_VALUES_SEEN,
    REFUSED,
    SECRET,
    Guarantee,
    Neighbours,
    Point,
)
from fugu.operators.mechanism import Draws, Floats, Inputs, Integers, Kind, Releases, State
from fugu.operators.noise.additive import finite_precision_delta
from fugu.operators.noise.grid import counted
from fugu.operators.noise.unit_laplace import TOTAL_VARIATION, WORDS_PER_DRAW, sample
from fugu.operators.randomness import draws_of
from fugu.operators.wevent.allocation import LARGEST_VALUE, require_size, units_below
from fugu.operators.whole_numbers import take_whole_numbers

FAN_OUT = 16
"""A node of the tree is the sum of so many below it."""
MOST_LEVELS = 10
CANDIDATES = 1024
"""The threshold is one of so many, evenly over the range."""
STEPS_PER_COUNT = 1024
"""Scores count thousandths of a number, so that what is subtracted from them is precise enough."""
EXCESS = 64
"""Numbers beyond a threshold are taken to exceed it by the range divided by this."""
_LARGEST_TOTAL = 2**62
_OTHERS = Point(
    "other-values-known",
    "an adversary with any prior about one number, who may know all others of all streams",
)
_ACCOUNTING = Point(
    "threshold-or-tree",
    "a number is either among the first {first:,}, which choose the threshold with epsilon, or in "
    "one node of each level of the tree, which have epsilon together",
)
_PROOF = Point("proof-of-tops", "operators/totals/truncated_totals.py; after Wang et al. 2021")


class Tree(NamedTuple):
    """Hold the public shape of a tree: numbers in a leaf, and levels."""

    leaf: int
    levels: int

    @property
    def sizes(self) -> list[int]:
        """Return how many numbers are in a node of each level, leaves first."""
        return [self.leaf * FAN_OUT**level for level in range(self.levels)]


@dataclass(frozen=True)
class TruncatedTotals:
    """Release numbers, and so their totals, from noisy sums of blocks: a rival, run offline.

    Claim. Where two sequences of numbers differ in one number, all releases together are
    epsilon-DP, up to the delta of finite precision: the event level of a trusted collector. The
    `first` numbers choose a threshold, and nothing is released for them. All others are cut off at
    it and added up in a tree, whose nodes have noise once each.

    Proof. A threshold t among the first numbers x has the score -#{x > t} - penalty(t), where the
    penalty is public. If one x changes, the count moves by at most 1, and for all t in the same
    direction: it is larger for all t between the old and the new number, or smaller for all. Chosen
    is the largest score with noise, of scale 1 / epsilon; of equal ones the smallest t. Let all
    scores move up by 0 or 1, and fix the noise of all t but one. That one wins from a certain noise
    on. This bound moves by at most 1, in either direction, and the tail of discrete Laplace noise
    beyond it loses a factor of e^epsilon at most. So the choice is epsilon-DP. A later number is in
    one node of each level, and moves it by at most t, since it is cut off at t. With noise of scale
    levels * t / epsilon in each node the tree is epsilon-DP, whatever t is. No number does both.
    Nodes are drawn when they are complete; releases follow from them, from t, and from how many
    numbers came, which is public.

    Within a leaf the mean of the last noisy leaf is released for each number, and half the
    threshold in the first leaf; the last number of a leaf corrects them, so that all of them add up
    to the total that the fewest complete nodes give. A row is a record, of whatever stream, in the
    order in which they come, and one `step` takes all of them. No pipeline runs this, since all
    partitions would have to agree on one order of records.

    Parameters: the declared range, `lower` and `upper` in units; `epsilon` in nats, at most 20;
    `units_per_one`; `first`. Release: doubles, and of the first ones none (`Kind.SUPPRESSED`), with
    the `threshold`. Totals are biased by what is cut off. Raises `ValueError` naming the parameter,
    and, in `step`, where there are no numbers after the first ones, or too many of them.

    >>> TruncatedTotals(0, 1000, epsilon=1.0, units_per_one=1, first=1000).tree(9_000)
    Tree(leaf=16, levels=2)

    Source: Wang et al. 2021, from the authors' code (SIP specification, section 9: ToPS). Its rules
    are sound where noise is a real number, the choice with the whole epsilon too, by the proof
    above; its noise is made of doubles, which tell more. It takes numbers to exceed a threshold by
    60 units whatever their range is, and makes leaves agree with nodes that are complete only
    later; here it is a part of the range, and releases follow from what is complete.
    """

    lower: int
    upper: int
    epsilon: float
    units_per_one: int
    first: int

    kind: ClassVar[str] = "tops"
    implementation: ClassVar[int] = 1

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        if self.lower >= self.upper:
            raise ValueError(f"lower: must be below upper, which is {self.upper}")
        require_size("units_per_one", self.units_per_one, LARGEST_VALUE)
        require_size("first", self.first, LARGEST_VALUE)
        require_size("upper - lower", self.width, LARGEST_VALUE)
        if units_below(self.epsilon) < max(MOST_LEVELS * self.width, STEPS_PER_COUNT):
            least = in_nats(max(MOST_LEVELS * self.width, STEPS_PER_COUNT))
            raise ValueError(
                f"epsilon: {self.epsilon:g} nats is too little for a range of {self.width:,} "
                f"units; give at least {least:g} nats, or take a larger unit"
            )

    @property
    def width(self) -> int:
        """Return the largest number above `lower`, in units."""
        return self.upper - self.lower

    @property
    def ends(self) -> Integers:
        """Return the thresholds to choose from, in units above `lower`."""
        number = min(self.width, CANDIDATES)
        return np.array([-(-self.width * place // number) for place in range(1, number + 1)])

    def tree(self, numbers: int) -> Tree:
        """Return the tree of so many numbers whose sums of ranges err least: noise is in all levels
        of a node and its neighbours, and half a leaf lies within a range on average."""
        tried = [Tree(1, _levels(numbers))]
        while tried[-1].leaf * FAN_OUT <= numbers:
            leaf = tried[-1].leaf * FAN_OUT
            tried.append(Tree(leaf, _levels(numbers // leaf)))
        return min(tried, key=lambda one: self._variance(one) + one.leaf**2 / 36.0)

    def scores(self, first: Integers, numbers: int) -> Integers:
        """Return the score of each threshold, in steps, before noise: `numbers` are to come."""
        beyond = len(first) - np.searchsorted(np.sort(first), self.ends, side="right")
        noise = sqrt(self._variance(self.tree(numbers)))
        excess = max(1, self.width // EXCESS)
        each = 3.0 * noise * len(first) / (numbers * excess)
        penalties = np.rint(STEPS_PER_COUNT * each * self.ends)
        limit = STEPS_PER_COUNT * (len(first) + 1)
        scores: Integers = -STEPS_PER_COUNT * beyond - np.minimum(penalties, limit).astype(np.int64)
        return scores

    @property
    def price_of_score(self) -> int:
        """Return what a step of a score costs, in units of budget."""
        return units_below(self.epsilon) // STEPS_PER_COUNT

    def price_of_sum(self, end: int, tree: Tree) -> int:
        """Return what a unit of a node costs, in units of budget, with a threshold of `end`."""
        return units_below(self.epsilon) // (tree.levels * end)

    def start(self, rows: int) -> State:
        return {}

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        """Release all records, in their order."""
        above = np.clip(counted(inputs.values), self.lower, self.upper) - self.lower
        later = len(above) - self.first
        if later < 1 or len(above) * self.width >= _LARGEST_TOTAL:
            raise ValueError(
                f"values: {len(above):,} numbers are no more than the first {self.first:,}, or so "
                "many that their total does not fit 64 bits"
            )
        end = self.threshold(above[: self.first], later, draws, len(above))
        nodes = self._noisy(above[self.first :], end, draws)
        released = np.zeros(len(above))
        told = _told(nodes, later, end, self.tree(later))
        released[self.first :] = (self.lower + told) / self.units_per_one
        kinds = np.where(np.arange(len(above)) < self.first, Kind.SUPPRESSED, Kind.FRESH)
        threshold = np.full(len(above), (self.lower + end) / self.units_per_one)
        return state, Releases(released, {"threshold": threshold}, kinds)

    def threshold(self, first: Integers, later: int, draws: Draws, rows: int) -> int:
        """Choose the end with the largest noisy score; `draws` are those of so many rows."""
        scores = self.scores(first, later)
        binding = binding_digest(scores.astype(">i8").tobytes(), self.price_of_score)
        words = draws_of(draws, np.array([0]), rows).words(
            "threshold", [binding], coordinates=len(scores), count=WORDS_PER_DRAW
        )
        noise = sample(words, np.array(self.price_of_score))[0]
        return int(self.ends[np.argmax(scores + noise)])

    def nodes(self, numbers: Integers, end: int) -> list[Integers]:
        """Cut numbers off at `end`; return the sums of all complete nodes, leaves first."""
        totals = np.append(0, np.cumsum(np.minimum(numbers, end)))
        return [np.diff(totals[::size]) for size in self.tree(len(numbers)).sizes]

    def _noisy(self, numbers: Integers, end: int, draws: Draws) -> list[Integers]:
        """Add noise to all nodes; a draw is that of the last record of its node."""
        tree, rows = self.tree(len(numbers)), self.first + len(numbers)
        price, found = self.price_of_sum(end, tree), []
        for level, sums in enumerate(self.nodes(numbers, end)):
            last = self.first + tree.sizes[level] * np.arange(1, len(sums) + 1) - 1
            words = draws_of(draws, last, rows).words(
                f"level {level}",
                [binding_digest(one, end, price) for one in sums.tolist()],
                count=WORDS_PER_DRAW,
            )
            found.append(sums + sample(words[:, 0], np.array(price)))
        return found

    def _variance(self, tree: Tree) -> float:
        """Return that of the noise in the sum of a range, for a threshold of 1."""
        return 2.0 * (FAN_OUT - 1) * tree.levels**3 / self.epsilon**2

    def guarantees(self) -> tuple[Guarantee, ...]:
        draws = max(len(self.ends), MOST_LEVELS)
        return (
            Guarantee(
                notion="dp",
                epsilon=self.epsilon,
                delta=0.0,
                per="release",
                neighbours=Neighbours("stream", "number", "replaced"),
                adversary=_OTHERS,
                accounting=(_ACCOUNTING.of(first=self.first),),
                trust=RAW_VALUES_SEEN,
                assumptions=(KEYED_HASH,),
                not_covered=(ARRIVALS, CORRELATION, RANGE, REFUSED, SECRET),
                proof=_PROOF,
                finite_precision_delta=finite_precision_delta(
                    self.epsilon, draws * TOTAL_VARIATION, 1
                ),
            ),
        )

    def audit(self) -> Mapping[str, object]:
        return {
            "thresholds to choose from": len(self.ends),
            "step of a score in nats": in_nats(self.price_of_score),
        }

    def law_digest(self) -> bytes:
        declared = self.lower, self.upper, self.units_per_one, self.first
        return binding_digest(self.kind, self.implementation, *declared, self.epsilon.hex())


def _levels(leaves: int) -> int:
    """Return how many levels there are above so many leaves, with at least one node each."""
    levels = 1
    while FAN_OUT ** (levels + 1) <= leaves and levels < MOST_LEVELS:
        levels += 1
    return levels


def _told(nodes: list[Integers], numbers: int, end: int, tree: Tree) -> Floats:
    """Return what is released for each number, from noisy nodes: post-processing."""
    leaves = nodes[0]
    totals = np.array([0, *_totals(nodes, len(leaves))], dtype=np.float64)
    guesses = np.append(end / 2.0, leaves / tree.leaf)
    told = np.repeat(guesses, tree.leaf)[:numbers]
    corrected = np.diff(totals) - (tree.leaf - 1) * guesses[:-1]
    told[tree.leaf - 1 : len(leaves) * tree.leaf : tree.leaf] = corrected
    return told


def _totals(nodes: list[Integers], leaves: int) -> Integers:
    """Return the total after each leaf, as the sum of the fewest complete nodes."""
    after, covered = np.arange(1, leaves + 1), np.zeros(leaves, dtype=np.int64)
    found = np.zeros(leaves, dtype=np.int64)
    for level, sums in reversed(list(enumerate(nodes))):
        running, size = np.append(0, np.cumsum(sums)), FAN_OUT**level
        found += running[after // size] - running[covered // size]
        covered = after // size * size
    return found
