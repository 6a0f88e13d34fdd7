"""Uniform: the w-event strategy that publishes every tick with an equal part of the budget."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

from fugu.operators.budget_units import in_nats
from fugu.operators.guarantee import Guarantee
from fugu.operators.loss import RepeatedLoss
from fugu.operators.noise.additive import finite_precision_delta
from fugu.operators.noise.unit_laplace import TOTAL_VARIATION
from fugu.operators.personal_cap import PersonalCap
from fugu.operators.points import (
    BEYOND_A_PERIOD,
    BEYOND_A_WINDOW,
    CAP_CHOSEN_IN_PUBLIC,
    CAPPED,
    CLAMPED,
    DEPENDENT_OTHERS,
    KEYED_HASH,
    ONE_GROUP,
    WINDOWS_INDEPENDENT,
    Point,
)
from fugu.operators.wevent import allocation
from fugu.operators.wevent.strategy import Strategy

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

    >>> from fugu.operators.trial import released
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
