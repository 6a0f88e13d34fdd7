"""Extended threshold mechanism (ETM): the threshold mechanism for budgets below any derived one."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from fugu.operators.declared import take_whole_numbers
from fugu.operators.mechanism import Array, Words
from fugu.operators.points import Point
from fugu.operators.responses.randomized_response import WORDS
from fugu.operators.temporal.guarantees import EMPTY_IS_DROPPED
from fugu.operators.temporal.selection import select, smaller_k_is_better
from fugu.operators.temporal.threshold_dispatch import ThresholdDispatch


@dataclass(frozen=True, eq=False, kw_only=True)
class ExtendedThresholdPerturbation(ThresholdDispatch):
    """Dispatch values as TM does, and drop some of those that need not wait.

    Claim. In steady state, no delay of a published value is more than e^(epsilon / 2) times as
    likely as another one. That bounds what one release tick alone says about the original tick; it
    is not a bound on what all releases together say. A value that need not wait is dropped with
    probability 1-a, and the empty tick says so.

    Parameters: those of `ThresholdDispatch`, as are input, release, state and errors; `acceptance`,
    a, 0 < a <= 1 (with 1 this is the threshold mechanism).

    >>> extended = ExtendedThresholdPerturbation.for_budget(k=10, epsilon=1.0)
    >>> extended.c0, round(extended.acceptance, 6), round(extended.delay_law_epsilon, 9)
    (8, 0.099923, 1.0)

    Source: TLDP specification, sections 3 to 7 and 10; Ye et al. 2021, section IV.
    """

    acceptance: float

    kind: ClassVar[str] = "extended_threshold_perturbation"

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        if not 0.0 < self.acceptance <= 1.0:
            raise ValueError(f"acceptance: must be above 0 and at most 1, not {self.acceptance}")
        if int(self.acceptance * WORDS) == 0:
            raise ValueError(f"acceptance: {self.acceptance:g} is below what 64-bit words can tell")
        super().__post_init__()

    @classmethod
    def for_budget(cls, k: int, epsilon: float, **options: Any) -> Self:
        """Select c0 and a as in section 4; a is 1 where the budget can be derived."""
        selected = select(k, epsilon)
        return cls(k=k, c0=selected.c0, acceptance=selected.acceptance, epsilon=epsilon, **options)

    @property
    def accepted(self) -> float:
        return self.acceptance

    @property
    def warnings(self) -> tuple[str, ...]:
        told = self.delay_law_epsilon if self.epsilon is None else self.epsilon
        return (
            f"{self.kind} drops {self.expected.missing:.1%} of all values, and each empty tick "
            f"says which one. {smaller_k_is_better(told)}",
            *self._outputs_say_more,
        )

    @property
    def _empties(self) -> tuple[Point, ...]:
        return (EMPTY_IS_DROPPED,)

    def _accepts(self, words: Words) -> Array:
        if self.acceptance == 1.0:
            return np.ones(len(words), dtype=bool)
        return words < np.uint64(int(self.acceptance * WORDS))
