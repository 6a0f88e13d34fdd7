"""Plant faults in figures with a budget for any window, which `fugu audit` must notice."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fugu.dataflows.kinds import fast, uniform
from fugu.dataflows.kinds.budget_absorption import BudgetAbsorptionOperator
from fugu.dataflows.kinds.budget_distribution import BudgetDistributionOperator
from fugu.dataflows.kinds.families import aggregates
from fugu.dataflows.kinds.uniform import UniformOperator
from fugu.dataflows.offline.auditing.aggregates import subject
from fugu.dataflows.records.contributions import Contributions
from fugu.dataflows.stages import merging
from fugu.dataflows.stages.merging import MergeState, Merging, OpenTicks, Progress
from fugu.dataflows.stages.summing import Summing
from fugu.operators.guarantee import Guarantee, RepeatedLoss
from fugu.operators.mechanism import Draws, Inputs, Releases, State, Words
from fugu.operators.personal_cap import PersonalCap
from fugu.operators.wevent import allocation
from fugu.operators.wevent.allocation import Booleans, Offer
from fugu.operators.wevent.fast import Fast
from fugu.operators.wevent.pegasus import Pegasus
from fugu.operators.wevent.spread_strategies import BudgetAbsorption, BudgetDistribution, Uniform
from tests.operators.wevent import test_capped_loss, test_pegasus
from tests.privacy.faults.aggregates import EveryRecordCounts, RefusedRecordsAreNotSeen
from tests.privacy.faults.planted import Detector, InAudit, InTest, Planted, Replacing

FAMILY = "figures in windows"
RUNS = 1_000
FALSE_ALARM = 1e-3
"""The claims of an audit together hold with 99.9 %."""


class HalvedNoise(Uniform):
    """Add half of the noise that was drawn."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        after, releases = super().step(state, inputs, draws)
        halved = inputs.values + (releases.values - inputs.values) // 2
        return {**after, "released": halved}, replace(releases, values=halved)


class GroupWithoutNoise(Uniform):
    """Publish the second group as it is."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        after, releases = super().step(state, inputs, draws)
        values = releases.values.copy()
        values[:, 1] = inputs.values[:, 1]
        return {**after, "released": values}, replace(releases, values=values)


class ClaimedForHalf(Uniform):
    """Promise half of the epsilon that is spent."""

    def guarantees(self) -> tuple[Guarantee, ...]:
        return tuple(replace(one, epsilon=one.epsilon / 2.0) for one in super().guarantees())


class OneMoveForgotten(Uniform):
    """Draw noise under a cap for what one person contributes, and not for what it takes the place
    of."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        halved = replace(self, sensitivity=self.sensitivity // 2, personal_cap=None)
        return Uniform.step(halved, state, inputs, draws)


class SignsForgotten(Uniform):
    """State the loss of signed amounts under a cap as if no draw met two contributions."""

    def _capped_loss(self, cap: PersonalCap) -> RepeatedLoss:
        return super()._capped_loss(replace(cap, signed=False))


class EveryTickIsTheFirst(allocation.BudgetDistribution):
    """Halve the whole half at every tick, whatever the window has spent."""

    def settle(self, state: State, offer: Offer, published: Booleans) -> State:
        after = super().settle(state, offer, published)
        fresh = self.start(len(published))
        return {**after, "recent": fresh["recent"], "shares": fresh["shares"]}


class NoWindow(BudgetDistribution):
    """Publish with half of the half at every tick, whatever the window has spent."""

    rule_class = EveryTickIsTheFirst


@dataclass(frozen=True)
class WithoutNoise:
    """Draw no noise for decisions."""

    draws: Draws
    decisions: str = "dissimilarity"

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        words = self.draws.words(purpose, binding, coordinates=coordinates, count=count)
        return np.full_like(words, 2**64 - 1) if purpose == self.decisions else words


class DecidesOnTheTruth(BudgetAbsorption):
    """Publish exactly where the figures have moved far enough."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        return super().step(state, inputs, WithoutNoise(draws))


class GroupsByTheTruth(Pegasus):
    """Let a tick join a group where its true figure is like those of the group."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        return super().step(state, inputs, WithoutNoise(draws, "deviation"))


class FilterOfRawValues(Fast):
    """Let the filter remember the true figures, and publish what it makes of them later."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        after, releases = super().step(state, inputs, draws)
        return {**after, "estimate": inputs.values.astype(np.float64)}, releases


class NotClamped(Contributions):
    """Read amounts beyond their range as they are."""

    def _bounded(self, amount: int) -> int:
        return amount


class EveryEntryIsNew(Progress):
    """Count what a partition tells again of a tick that is open."""

    def told(self, partition: int, tick: int, skipped: int) -> bool:
        return super().told(partition, tick, skipped) or tick == self.following


class SpentForgotten(Merging):
    """Read the merge back as if nothing had been spent."""

    def restored(self, content: bytes, load: Callable[[str], OpenTicks]) -> MergeState:
        state = super().restored(content, load)
        fresh = self.mechanism.start(len(self.streams))
        spent: State = {
            name: fresh[name] for name in ("recent", "shares", "spent") if name in fresh
        }
        return replace(state, mechanism={**state.mechanism, **spent})


def in_audit(kind: str, **changes: object) -> InAudit:
    """Audit the example of a kind; what is exact in it finds faults with few runs."""
    return InAudit(kind, changes, runs=RUNS)


def planted(fault: str, original: object, mutant: object, detector: Detector) -> Planted:
    """Let an audit detect a fault."""
    return Planted(fault, original, mutant, detector, FALSE_ALARM)


KWH = {"sum": {"field": "kwh", "lower": -2, "upper": 5, "unit": 0.1}}
UNIFORM = in_audit("uniform")
CAPPED = in_audit("uniform", window=None, contributions={"at_most": 3, "per": "3h"})
CLASS = "strategy_class"
PLANTED = (
    planted("halved noise", Uniform, HalvedNoise, Replacing(UniformOperator, CLASS, UNIFORM)),
    planted(
        "group without noise",
        Uniform,
        GroupWithoutNoise,
        Replacing(UniformOperator, CLASS, in_audit("uniform", groups=["a", "b", "c"])),
    ),
    planted(
        "claim below the truth",
        Uniform,
        ClaimedForHalf,
        Replacing(UniformOperator, CLASS, UNIFORM),
    ),
    planted(
        "a move charged once", Uniform, OneMoveForgotten, Replacing(uniform, "Uniform", CAPPED)
    ),
    Planted(
        "a move charged once",
        Uniform,
        SignsForgotten,
        Replacing(
            test_capped_loss,
            "Uniform",
            InTest(
                test_capped_loss.test_no_input_of_one_person_loses_more_than_the_loss_says,
                lambda planted: (True, 1),
            ),
        ),
    ),
    planted(
        "ignored window",
        BudgetDistribution,
        NoWindow,
        Replacing(BudgetDistributionOperator, CLASS, in_audit("budget_distribution")),
    ),
    planted(
        "decision taken on truth",
        BudgetAbsorption,
        DecidesOnTheTruth,
        Replacing(BudgetAbsorptionOperator, CLASS, in_audit("budget_absorption")),
    ),
    Planted(
        "decision taken on truth",
        Pegasus,
        GroupsByTheTruth,
        Replacing(
            test_pegasus,
            "Pegasus",
            InTest(
                test_pegasus.test_groups_and_medians_are_those_of_a_plain_implementation,
                lambda planted: (2, 3, 1.0),
            ),
        ),
    ),
    planted(
        "filter that sees raw values",
        Fast,
        FilterOfRawValues,
        Replacing(fast, "Fast", in_audit("fast")),
    ),
    planted(
        "doubled contribution", Summing, EveryRecordCounts, Replacing(subject, "Summing", UNIFORM)
    ),
    planted(
        "amounts beyond their range",
        Contributions,
        NotClamped,
        Replacing(aggregates, "Contributions", in_audit("uniform", **KWH)),
    ),
    planted(
        "time moved by values",
        Summing,
        RefusedRecordsAreNotSeen,
        Replacing(subject, "Summing", UNIFORM),
    ),
    planted(
        "batch counted twice", Progress, EveryEntryIsNew, Replacing(merging, "Progress", UNIFORM)
    ),
    planted(
        "budget reset at restart",
        Merging,
        SpentForgotten,
        Replacing(subject, "Merging", in_audit("budget_distribution")),
    ),
)
