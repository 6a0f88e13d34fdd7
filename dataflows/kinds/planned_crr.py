from typing import Annotated, Literal

from pydantic import Field, field_validator

from fugu.dataflows.base.section import Epsilon
from fugu.dataflows.kinds.families.conditional import ConditionalInTimeOperator
from fugu.dataflows.kinds.families.section import Files
from fugu.operators.budget import Budgeted, without_budget
from fugu.operators.mechanism import Mechanism
from fugu.operators.sip.planned_release import PlannedRelease

_PLANNED = 2
"""The number of symbols that spending is planned for."""


class PlannedCrrOperator(ConditionalInTimeOperator):
    """Release a bit as `crr`, at no cost while the model is sure of it, else for more nats."""

    order = 102
    example = (
        "alphabet: [away, home]\nepsilon: 1.0\nmodel: presence.model.json\n"
        "accept_growing_loss: true\n"
    )
    protected = "a user's sequence of bits, per release: under the model, and without any model"
    mechanism_class = PlannedRelease

    kind: Literal["planned_crr"]
    epsilon: Annotated[Epsilon, Field(le=50)]
    """The mean nats of a release under the model, of records one step apart; single ones differ."""
    accept_growing_loss: bool = False
    """Say that a promise per release is enough, without a total over a stream's life."""

    @field_validator("alphabet")
    @classmethod
    def _check_symbols(cls, alphabet: list[object]) -> list[object]:
        if len(alphabet) != _PLANNED:
            raise ValueError(
                f"has {len(alphabet)} symbols, and spending is planned for {_PLANNED} alone; write "
                "kind: crr"
            )
        return alphabet

    def check_life(self, *, limited: bool) -> None:
        if not limited and not self.accept_growing_loss:
            raise ValueError(
                "operator: planned_crr spends epsilon on average, under the model, and nothing "
                "limits what a stream spends here. Write budget: {total: NATS} without a window, "
                "or operator.accept_growing_loss: true if a promise per release is all you want"
            )

    def parameters(self) -> dict[str, object]:
        apart = "" if self.step is None else ", if records are one step apart; after a gap more"
        return {
            **super().parameters(),
            "epsilon": f"{self.epsilon:g} nats per release on average, under the model{apart}",
            "a release spends": "what a public table says, which depends on the releases before it",
        }

    def remarks(self, files: Files, mechanism: Mechanism) -> list[str]:
        planned = without_budget(mechanism)
        assert isinstance(planned, PlannedRelease)
        found = [*super().remarks(files, mechanism), *_not_adopted(planned)]
        if isinstance(mechanism, Budgeted) and mechanism.total < planned.most:
            found.append(
                f"budget.total: {mechanism.total:g} nats are less than one release may spend, "
                f"which is {planned.most:g}: a stream may be exhausted at its first unsure record"
            )
        return found

    def how_to_read(self) -> list[str]:
        return [
            *super().how_to_read(),
            "a release that costs nothing is the likelier symbol, whatever the truth is; its "
            "confidence says how likely it is.",
        ]


def _not_adopted(planned: PlannedRelease) -> list[str]:
    if planned.plan is not None:
        return []
    made = planned.simulated
    return [
        f"operator.epsilon: planned spending is not better here, so the pipeline runs as kind: crr "
        f"with epsilon {planned.epsilon:g}. In simulation {made.error:.2%} of releases were wrong "
        f"with a plan, and {made.constant_error:.2%} with constant spending of no larger mean"
    ]
