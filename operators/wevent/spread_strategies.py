"""Spread the budget of a window over ticks: evenly, at one tick, by halves, or by absorption."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from fugu.operators.budget_units import in_nats
from fugu.operators.guarantee import (
    BEYOND_A_PERIOD,
    BEYOND_A_WINDOW,
    CAP_CHOSEN_IN_PUBLIC,
    CAPPED,
    CLAMPED,
    DEPENDENT_OTHERS,
    KEYED_HASH,
    ONE_GROUP,
    WINDOWS_INDEPENDENT,
    Guarantee,
    Point,
    RepeatedLoss,
)
from fugu.operators.mechanism import State
from fugu.operators.noise.additive import finite_precision_delta
from fugu.operators.noise.unit_laplace import TOTAL_VARIATION
from fugu.operators.personal_cap import PersonalCap
from fugu.operators.wevent import allocation
from fugu.operators.wevent.allocation import Booleans, Offer, Rule
from fugu.operators.wevent.strategy import Strategy


@dataclass(frozen=True, eq=False)
class Sample(Strategy):
    """Publish ticks 1, window + 1, 2 window + 1, ... with noise of scale sensitivity / epsilon.

    Claim. As for `Uniform`. The ticks in between repeat what was published.

    Parameters: those of `Strategy`, as are input, release, state and errors.

    >>> from fugu.operators.single_stream import released
    >>> sample = Sample(bins=2, window=2, epsilon=1.0, sensitivity=1)
    >>> [release.values.tolist() for release in released(sample, [[500, 20], [600, 30], [700, 40]])]
    [[[498, 20]], [[498, 20]], [[702, 40]]]

    Source: PBA specification, section 4; Kellaris et al. 2014.
    """

    kind: ClassVar[str] = "sample"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.Sample
    claim: ClassVar[str] = "a window holds one publication, which spends epsilon"
    proof: ClassVar[str] = "PBA specification, section 4 (Sample)"


_ACCOUNTING_CAPPED = Point(
    "accounting-of-uniform-capped",
    "the ticks of a period in which a person counts spend epsilon: an equal part each",
)
_PROOF_CAPPED = Point(
    "proof-of-uniform-capped",
    "continual release specification, section 2 (Theorem 1, L1): all that neighbours differ by in "
    "a period is twice what a person contributes in the ticks that count",
)


@dataclass(frozen=True, eq=False)
class Uniform(Strategy):
    """Publish every tick with fresh noise of scale window * sensitivity / epsilon.

    Claim. Any `window` consecutive ticks are epsilon-DP together for what one person contributes
    to them (w-event privacy), up to the delta of finite precision. With a `personal_cap` instead,
    what one person contributes to an aligned period of the cap is: a tick has a part of epsilon for
    each of the ticks that count, and neighbours differ in all of them together by twice what a
    person contributes there.

    Parameters: those of `Strategy`, as are input, release, state and errors. With a `personal_cap`,
    `window` is the number of ticks that count, and `sensitivity` twice what a contribution amounts
    to, whatever its sign; then `window_epsilon` is what so many ticks in a row have spent.

    >>> from fugu.operators.single_stream import released
    >>> uniform = Uniform(bins=3, window=10, epsilon=1.0, sensitivity=1)
    >>> [release] = released(uniform, [[500, 20, 0]])
    >>> release.values.tolist(), release.annotations["standard_error"].round(2).tolist()
    ([[500, 4, 8]], [14.14])

    Source: PBA specification, section 4; Kellaris et al. 2014; continual release specification,
    section 2 (Theorem 1).
    """

    personal_cap: PersonalCap | None = field(default=None, kw_only=True)

    kind: ClassVar[str] = "uniform"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.Uniform
    claim: ClassVar[str] = "a window spends epsilon: an equal part at every tick"
    proof: ClassVar[str] = "PBA specification, section 4 (Uniform); sequential composition"

    def __post_init__(self) -> None:
        super().__post_init__()
        cap = self.personal_cap
        if cap is None:
            return
        if self.window != cap.counted:
            raise ValueError(
                f"window: must be {cap.counted}, the ticks that count under the personal_cap, not "
                f"{self.window}"
            )
        if self.sensitivity % 2:
            raise ValueError(
                "sensitivity: under a personal_cap it is twice what a contribution amounts to, and "
                f"so even, not {self.sensitivity}"
            )

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return w-event differential privacy, or that of a period, whose loss is that of equal
        ticks.

        Under a cap neighbours differ in two figures for each tick that counts, or in one by twice
        as much where amounts have signs.
        """
        [promised] = super().guarantees()
        cap = self.personal_cap
        if cap is None:
            each = in_nats(self.largest_tick)
            return (replace(promised, loss=RepeatedLoss(each, self.window)),)
        draws = 2 * self.window
        left_open = (point for point in promised.not_covered if point != BEYOND_A_WINDOW)
        return (
            replace(
                promised,
                per="period",
                window=cap.ticks,
                adversary=WINDOWS_INDEPENDENT,
                accounting=(
                    _ACCOUNTING_CAPPED,
                    CAPPED.of(at_most=cap.at_most, ticks=cap.ticks),
                ),
                assumptions=(
                    ONE_GROUP.of(units=self.sensitivity // 2),
                    CAP_CHOSEN_IN_PUBLIC,
                    KEYED_HASH,
                ),
                not_covered=(BEYOND_A_PERIOD, CLAMPED, DEPENDENT_OTHERS, *left_open),
                proof=_PROOF_CAPPED,
                finite_precision_delta=finite_precision_delta(self.epsilon, TOTAL_VARIATION, draws),
                loss=self._capped_loss(cap),
            ),
        )

    def _capped_loss(self, cap: PersonalCap) -> RepeatedLoss:
        """Return the loss of a period, in which one person counts in so many ticks of each input.

        Amounts that are not negative move a figure by one contribution at most, in twice as many
        draws. With signs one draw may meet two, from plus to minus, and loses all of its tick. The
        other draws make pairs, one of each input, that lose no more than that together. Noise
        is for a whole price of each unit, of which there are an even number.
        """
        each = in_nats(self.largest_tick // self.sensitivity * self.sensitivity)
        if cap.signed:
            return RepeatedLoss(each, self.window)
        return RepeatedLoss(each / 2, 2 * self.window)

    def _identity(self) -> bytes:
        return b"" if self.personal_cap is None else self.personal_cap.identity()


@dataclass(frozen=True, eq=False)
class BudgetDistribution(Strategy):
    """Publish when it pays, with half of what the publications of the window have left.

    This is budget distribution (BD).

    Claim. As for `Uniform`. Half of epsilon is spread evenly over noisy decisions; a publication
    costs half of what those of the window have left of the other half, so that a window spends less
    than epsilon (1 - 2^-(window + 1)).

    Parameters: those of `Strategy`, as are input, release and errors. State: also `shares`, what
    the publications of a window took.

    >>> from fugu.operators.single_stream import released
    >>> distribution = BudgetDistribution(bins=2, window=2, epsilon=1.0, sensitivity=1)
    >>> ticks = released(distribution, [[500, 0], [500, 0], [500, 80], [500, 80]])
    >>> [tick.annotations["publication_epsilon"].tolist() for tick in ticks]
    [[0.25], [0.0], [0.25], [0.0]]

    Source: PBA specification, sections 2 and 4; Kellaris et al. 2014.
    """

    kind: ClassVar[str] = "budget_distribution"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.BudgetDistribution
    claim: ClassVar[str] = (
        "a window spends less than epsilon: half of it on decisions, and on publications half of "
        "what those of the window have left of the other half"
    )
    proof: ClassVar[str] = "PBA specification, sections 2 (theorem, with all flags 1) and 4 (BD)"


@dataclass(frozen=True, eq=False)
class BudgetAbsorption(Strategy):
    """Publish when it pays, with the budget that skipped ticks left over.

    This is budget absorption (BA).

    Claim. As for `Uniform`. Half of epsilon is spread evenly over noisy decisions, the other half
    evenly over publications. One that absorbs the parts of n skipped ticks is followed by n silent
    ones, which repeat it without a look at the data, so that a window spends at most epsilon, and
    may spend all of it.

    Parameters: those of `Strategy`, as are input, release and errors. State: also `last`, the tick
    of the last publication, and `multiple`: of how many ticks it had the part.

    >>> from fugu.operators.single_stream import released
    >>> absorption = BudgetAbsorption(bins=2, window=2, epsilon=1.0, sensitivity=1)
    >>> ticks = released(absorption, [[0, 0], [0, 80], [0, 80], [0, 80]])
    >>> [tick.annotations["publication_epsilon"].tolist() for tick in ticks]
    [[0.0], [0.5], [0.0], [0.0]]

    Source: PBA specification, section 4; Kellaris et al. 2014.
    """

    kind: ClassVar[str] = "budget_absorption"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.BudgetAbsorption
    claim: ClassVar[str] = (
        "a window spends at most epsilon: half of it on decisions, and on publications the parts "
        "of their own ticks and of skipped ones, which silent ticks pay back"
    )
    proof: ClassVar[str] = "PBA specification, section 4 (BA)"


class DonorAllocation(Rule):
    """Offer one share to every publication, and two to a flagged one that finds a donor.

    A tick that decides and does not publish becomes a donor. A flagged publication uses up the
    oldest donor of the last `window - 1` ticks, has the budget of both ticks, and silences the next
    tick, which neither decides nor publishes nor donates.

    Claim. As for `Rule`. Take a window that holds a publication with two shares. If the window does
    not hold its donor, which spends nothing, it holds the silenced tick, which spends nothing
    either. Both serve one publication only, so publications of a window spend at most one share per
    tick.

    >>> rule = DonorAllocation(window=3, epsilon=600)
    >>> state = rule.start(1)
    >>> for wish, flag in zip([1, 0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 0, 0]):
    ...     offer = rule.offer(state, np.array([flag > 0]))
    ...     published = (offer.publication > 0) & (wish > 0)
    ...     print(np.where(published, offer.publication, 0).tolist(), end="")
    ...     state = rule.settle(state, offer, published)
    [100][0][0][100][200][0][100]

    Source: PBA specification, section 3 (Fig. 6.3).
    """

    def _most(self) -> int:
        return 2 * self.window * self._share

    @property
    def largest(self) -> int:
        return 2 * self._share if self.window > 1 else self._share

    @property
    def _share(self) -> int:
        return self.epsilon // (2 * self.window)

    def start(self, rows: int) -> State:
        """Return also `donors`, which of the last `window - 1` ticks are, and `silenced`."""
        return {
            **super().start(rows),
            "donors": np.zeros((rows, self.window - 1), dtype=bool),
            "silenced": np.zeros(rows, dtype=bool),
        }

    def offer(self, state: State, flags: Booleans) -> Offer:
        """Offer one share or two; nothing, and no decision, at a silenced tick."""
        silenced = state["silenced"]
        absorbs = flags & state["donors"].any(axis=1) & ~silenced
        shares = np.where(silenced, 0, 1 + absorbs)
        offered = self._offer(shares * self._share, shares)
        return Offer(np.where(silenced, 0, offered.decision), offered.publication, offered.share)

    def settle(self, state: State, offer: Offer, published: Booleans) -> State:
        """Return also which ticks are donors now, and whether the next one is silenced."""
        donors, absorbs = state["donors"], published & (offer.share > 1)
        oldest = donors & (np.cumsum(donors, axis=1) == 1)
        donates = ~published & ~state["silenced"]
        return {
            **super().settle(state, offer, published),
            "donors": _followed(donors & ~(absorbs[:, None] & oldest), donates),
            "silenced": absorbs,
        }


def _followed(donors: Booleans, newest: Booleans) -> Booleans:
    """Forget the oldest tick of each row and append the newest."""
    return np.concatenate([donors, newest[:, None]], axis=1)[:, 1:].copy()
