"""Operators that publish values unchanged, and displace them in time."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from fugu.dataflows.base.section import Epsilon, Section
from fugu.dataflows.base.ticks import Several, Ticks
from fugu.dataflows.kinds.ticks import EventTimeTicks
from fugu.dataflows.records.payloads import NullValue
from fugu.operators.responses.randomized_response import LARGEST_EPSILON
from fugu.operators.temporal.costs import Costs
from fugu.operators.temporal.dispatch_law import LARGEST_K
from fugu.operators.temporal.forward import Calibrate, visible
from fugu.operators.temporal.temporal_perturbation import End

Kind = Literal[
    "temporal_perturbation",
    "threshold_perturbation",
    "extended_threshold_perturbation",
    "backward_perturbation",
    "forward_perturbation",
]
_JUMP_WINDOWS = 10
_IDLE_WINDOWS = 4


class Interval(EventTimeTicks):
    """Ticks of event time; without `max_jump` and `idle`, 10 and 4 windows."""

    max_jump: int | None = Field(default=None, ge=1)
    several: Several = "last"
    idle: int | None = Field(default=None, ge=1)


Cost = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=False)]


class CostsSection(Section):
    """What one missing, one repeated, one empty and one delayed tick cost.

    Those that are left out cost as much as a delay of the whole window.
    """

    missing: Cost | None = None
    repeated: Cost | None = None
    empty: Cost | None = None
    delay: float = Field(default=1.0, gt=0, allow_inf_nan=False, strict=False)

    def of(self, window: int) -> Costs:
        """The same for the selection."""
        given = {name: cost for name, cost in self.model_dump().items() if cost is not None}
        whole = window * self.delay
        return Costs(**{"missing": whole, "repeated": whole, "empty": whole, **given})


class TemporalOperator(Section):
    """One payload in and at most one out at every tick; `window` is k.

    `kind: temporal_perturbation` chooses the cheapest of the four mechanisms that keeps `require`.
    """

    reads: ClassVar[frozenset[str]] = frozenset({"ticks", "null"})

    kind: Kind
    window: Annotated[int, Field(ge=2, le=LARGEST_K)]
    epsilon: Epsilon | None = None
    threshold: int | None = None
    acceptance: float | None = None
    calibrate: Calibrate = "visible"
    costs: CostsSection = CostsSection()
    require: list[Literal["no_missing", "no_repeat", "no_empty"]] = Field(default_factory=list)
    extended_by: Literal["budget", "cost"] = "budget"
    ticks: Literal["sequence"] | Interval = "sequence"
    start: Literal["stationary", "cold"] = "stationary"
    warm_up: Literal["suppress", "emit"] = "suppress"
    end: End = "drain"
    empty: Literal["emit", "skip"] = "emit"
    null: NullValue = "error"
    accept_unsound: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        thresholds = self.kind.endswith("threshold_perturbation")
        chosen = self.kind == "temporal_perturbation"
        belongs = {
            "threshold": thresholds,
            "acceptance": self.kind == "extended_threshold_perturbation",
            "calibrate": chosen or self.kind == "forward_perturbation",
            "costs": chosen or self.extended_by == "cost",
            "require": chosen,
            "extended_by": chosen or self.kind == "extended_threshold_perturbation",
            "start": thresholds,
        }
        for name, fits in belongs.items():
            if name in self.model_fields_set and not fits:
                raise ValueError(f"{name}: {self.kind} does not have it; delete it")
        if self.start == "cold" and not self.accept_unsound:
            raise ValueError(
                "start: a cold start is the paper's, and breaks the bound on early delays; delete "
                "it, or write accept_unsound: true to reproduce the paper"
            )
        if self.calibrate == "nominal" and self.epsilon is not None and not self.accept_unsound:
            exact = visible(self.window, min(self.epsilon, LARGEST_EPSILON))
            raise ValueError(
                f"calibrate: with nominal, the delays that are seen of forward_perturbation have "
                f"{exact:.4g} nats, more than the epsilon of {self.epsilon:g}; delete it, or write "
                "accept_unsound: true to reproduce the paper"
            )
        if self.epsilon is None and self.threshold is None:
            raise ValueError("epsilon: is required; add it")
        if self.threshold is not None and self.kind == "extended_threshold_perturbation":
            if self.acceptance is None:
                raise ValueError("acceptance: goes with threshold; add it, or write epsilon only")
        elif self.acceptance is not None:
            raise ValueError("threshold: goes with acceptance; add it, or write epsilon only")
        if isinstance(self.ticks, Interval):
            least = _IDLE_WINDOWS * self.window
            if self.ticks.idle is not None and self.ticks.idle < least:
                raise ValueError(f"ticks.idle: must be at least {least}, four windows")
        return self

    def in_ticks(self) -> Ticks | None:
        """Ticks of event time; None where every record is a tick."""
        if isinstance(self.ticks, str):
            return None
        width, grace = self.ticks.milliseconds
        return Ticks(
            width=width,
            grace=grace,
            max_jump=self.ticks.max_jump or _JUMP_WINDOWS * self.window,
            idle=self.ticks.idle or _IDLE_WINDOWS * self.window,
            several=self.ticks.several,
            time=self.ticks.stream_time.as_declared,
        )

    def parameters(self) -> dict[str, object]:
        """What people want to see of it."""
        return {
            "window": f"{self.window} ticks: a value leaves at its own or a later one of them",
            **({} if self.epsilon is None else {"epsilon": f"{self.epsilon:g} nats"}),
            **({} if self.threshold is None else {"threshold": self.threshold}),
            **self._ticks_in_words(),
            "empty ticks": "are published" if self.empty == "emit" else "are not published",
            "first window of a stream": (
                "is not published" if self.warm_up == "suppress" else "is published"
            ),
            "fugu run --finish": (
                "publishes what is held back, in random order"
                if self.end == "drain"
                else "drops what is held back"
            ),
        }

    def _ticks_in_words(self) -> dict[str, str]:
        ticks = self.in_ticks()
        if ticks is None:
            return {"ticks": "every record of a key is one"}
        return {
            "ticks": ticks.in_words,
            "stream time": ticks.time.in_words,
            "too far ahead": ticks.silence_in_words,
            "beginning of an epoch": "the tick after a record of the key, which is not released",
            "end of an epoch": (
                f"after {ticks.idle} releases without a value, one after another; "
                "what waits then is dropped"
            ),
        }

    def not_covered(self, *, removes_copies: bool) -> list[str]:
        """What the way of making ticks leaves open."""
        if isinstance(self.ticks, Interval):
            return [
                "when a stream begins: its first release follows its first record, which is not "
                f"released, by {self.window + 1} ticks"
            ]
        copies = (
            "records that a producer sent twice (source.dedupe is not set): each copy is a tick, "
            "and its value is published once more"
        )
        return [
            "when records arrive and how many there are: every record is a tick, and a release has "
            "the time of the record of its tick",
            *([] if removes_copies else [copies]),
        ]

    def how_to_read(self) -> list[str]:
        """What an analyst must know of the output."""
        return [
            "value is a true value, at a tick that is its own or up to window - 1 later; tick "
            "counts those of one key and epoch.",
            "move a series back by the mean delay above (mean_delay) before it is compared with "
            "another one; running counts lag by as much, and are divided by the share of values "
            "that leave (1 - missing).",
            "empty ticks hold no value: leave them out of means.",
            "phase: warmup is the beginning of an epoch, about which nothing is promised; in its "
            "cooldown, values are up to two windows late.",
        ]
