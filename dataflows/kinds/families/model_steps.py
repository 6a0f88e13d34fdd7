"""Let steps of a model be records, or take event time."""

from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator, Field

from fugu.dataflows.base.section import Section
from fugu.dataflows.base.ticks import AS_JSON, MILLISECOND, whole_milliseconds
from fugu.dataflows.kinds.families.models import ModelOperator
from fugu.operators.sip.inputs import LONGEST_GAP, Gaps


class ModelStep(Section):
    """Let steps of the model take `length` in event time, a gap `longest_gap` of them at most."""

    length: Annotated[timedelta, BeforeValidator(whole_milliseconds("1ms", "30d")), AS_JSON]
    """The event time that one step of the model takes."""
    longest_gap: int = Field(ge=1, le=LONGEST_GAP)
    """The most steps that a gap counts as."""

    @property
    def gaps(self) -> Gaps:
        """Return the same for the mechanism."""
        return Gaps(self.length // MILLISECOND, self.longest_gap)


class InTimeOperator(ModelOperator):
    """Let steps of the model be records, or take event time."""

    step: ModelStep | None = None
    """Say how long a step of the model is; without it, each record is one."""

    @property
    def gaps(self) -> Gaps | None:
        """Return how beliefs age between records, if they do."""
        return None if self.step is None else self.step.gaps

    def parameters(self) -> dict[str, object]:
        in_time = "one step per record" if self.gaps is None else str(self.gaps)
        return {**super().parameters(), "model in time": in_time}
