"""Share what operators have in common that publish values unchanged, and displace them in time."""

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from fugu.dataflows.base.field_paths import holds, released_name
from fugu.dataflows.base.section import Epsilon, Section
from fugu.dataflows.base.ticks import Several, Ticks
from fugu.dataflows.kinds.families.section import Files, OperatorSection
from fugu.dataflows.kinds.families.ticks import EventTimeTicks
from fugu.dataflows.records.payloads import NullValue, Payloads
from fugu.dataflows.records.values import Values
from fugu.dataflows.stages.stage_kind import StageKind
from fugu.operators.mechanism import Mechanism
from fugu.operators.responses.randomized_response import LARGEST_EPSILON
from fugu.operators.temporal.dispatch_law import LARGEST_K, Costs
from fugu.operators.temporal.random_delays import Calibrate, visible
from fugu.operators.temporal.temporal_perturbation import End, TemporalPerturbation

_JUMP_WINDOWS = 10
_IDLE_WINDOWS = 4
_KEYS: Final = {"k": "window", "c0": "threshold", "start_mode": "start"}
_PARAMETER: Final = re.compile(rf"\b({'|'.join(_KEYS)})\b")
_OF_SOME = ("threshold", "acceptance", "calibrate", "require", "extended_by", "start")


def as_in_the_file(text: str) -> str:
    """Name parameters of a mechanism as the pipeline file does.

    >>> as_in_the_file("c0: must be a whole number, 2 to k - 1, not 9")
    'threshold: must be a whole number, 2 to window - 1, not 9'
    """
    return _PARAMETER.sub(lambda found: _KEYS[found[0]], text)


class Interval(EventTimeTicks):
    """Declare ticks of event time; without `max_jump` and `idle`, 10 and 4 windows."""

    max_jump: int | None = Field(default=None, ge=1)
    """Say how many ticks a record may be ahead of those that are open; by default 10 windows."""
    several: Several = "last"
    """Say which of several records of a key in a tick counts."""
    idle: int | None = Field(default=None, ge=1)
    """After how many releases without a value an epoch ends; by default 4 windows."""


Cost = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=False)]


class CostsSection(Section):
    """Say what one missing, one repeated, one empty and one delayed tick cost.

    Those that are left out cost as much as a delay of the whole window.
    """

    missing: Cost | None = None
    """The cost of a tick whose value never leaves."""
    repeated: Cost | None = None
    """The cost of a value that is published once more."""
    empty: Cost | None = None
    """The cost of a release without a value."""
    delay: float = Field(default=1.0, gt=0, allow_inf_nan=False, strict=False)
    """The cost of one tick of delay."""

    def of(self, window: int) -> Costs:
        """Return the same for the selection."""
        given = {name: cost for name, cost in self.model_dump().items() if cost is not None}
        whole = window * self.delay
        return Costs(**{"missing": whole, "repeated": whole, "empty": whole, **given})


class TemporalOperator(OperatorSection):
    """Take one payload and release at most one at every tick; `window` is k."""

    example = "window: 10\nepsilon: 5.0\n"
    protected = "when a single value came"
    reads = frozenset({"ticks", "when_null"})
    stage = StageKind.DISPLACED
    evaluation = "displaced"
    claims_about = "times"
    several_fields = True
    no_budget = (
        "nothing is charged for displacing values in time; {kind} has no budget, and every stream "
        "may be released once only. Delete it"
    )
    source_budget = False
    no_dedupe = (
        "with ticks of event time a stream has one value in a tick, however often it was sent"
    )
    instead = dict.fromkeys(_OF_SOME, "{name}: {kind} does not have it; delete it")

    window: Annotated[int, Field(ge=2, le=LARGEST_K)]
    """Say how many ticks a value may take to leave: k in texts and audits."""
    epsilon: Epsilon | None = None
    """The nats that tell apart when a value came; chooses what is not written."""
    costs: CostsSection = CostsSection()
    """Say what each sort of error costs, where costs choose."""
    ticks: Literal["sequence"] | Interval = "sequence"
    """Say what a tick is: each record of a key (`sequence`), or an interval of event time."""
    warm_up: Literal["suppress", "emit"] = "suppress"
    """Say what becomes of the first window of a stream, about which nothing is promised."""
    end: End = "drain"
    """Say what `--finish` does with values that wait."""
    empty: Literal["emit", "skip"] = "emit"
    """Say whether ticks without a value are published."""
    when_null: NullValue = "error"
    """Say what a field that is null becomes: a dead letter, or a tick without a value."""
    accept_unsound: bool = False
    """Say whether a claim that is known not to hold is accepted, to reproduce a paper."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if "costs" in self.model_fields_set and not self.by_cost:
            raise ValueError(f"costs: {self.kind} does not have it; delete it")
        self._check_parameters()
        if isinstance(self.ticks, Interval):
            least = _IDLE_WINDOWS * self.window
            if self.ticks.idle is not None and self.ticks.idle < least:
                raise ValueError(f"ticks.idle: must be at least {least}, four windows")
        return self

    def _check_parameters(self) -> None:
        """Raise `ValueError` if parameters of the kind do not go together."""
        self.nats()

    @property
    def by_cost(self) -> bool:
        """Return whether costs choose anything."""
        return False

    def nats(self) -> float:
        """Return epsilon; `ValueError` where there is none."""
        if self.epsilon is None:
            raise ValueError("epsilon: is required; add it")
        return float(self.epsilon)

    @abstractmethod
    def _perturbation(self, **common: Any) -> TemporalPerturbation:
        """Make the mechanism of the kind, given parameters that all have in common."""

    def perturbation(self) -> TemporalPerturbation:
        """Return the mechanism, which needs no files; errors name keys of the section."""
        try:
            return self._perturbation(k=self.window, warm_up=self.warm_up, empty=self.empty)
        except ValueError as error:
            raise ValueError(as_in_the_file(str(error))) from None

    def mechanism(self, files: Files) -> Mechanism:
        return self.perturbation()

    @property
    def finishing(self) -> End:
        return self.end

    def estimator(self, mechanism: Mechanism) -> Mapping[str, float]:
        assert isinstance(mechanism, TemporalPerturbation)
        mean_delay = float((mechanism.delay_law * np.arange(mechanism.k)).sum())
        return {"mean_delay": mean_delay, "empty": mechanism.expected.empty}

    def remarks(self, files: Files, mechanism: Mechanism) -> list[str]:
        assert isinstance(mechanism, TemporalPerturbation)
        return list(map(as_in_the_file, mechanism.warnings))

    def values(self, fields: Sequence[str]) -> Values:
        return Payloads(fields, null=self.when_null)

    def check_fields(self, fields: Sequence[str], time: str | None, event: str | None) -> None:
        if len(set(fields)) != len(fields):
            raise ValueError("source.value: name every field once")
        if len(set(map(released_name, fields))) != len(fields):
            raise ValueError(
                "source.value: a release shows a field under the last name of its path, and two of "
                "these are the same; name one of them, or what holds both"
            )
        told = {time: "time of a record, and would say in every release where it came from"}
        told[event] = "name of a record, and would say in every release which one it was"
        for inner, what in told.items():
            for outer in fields:
                if inner is not None and holds(outer, inner):
                    verb = "is" if outer == inner else "holds"
                    raise ValueError(f"source.value: {outer} {verb} the {what}")

    def in_ticks(self) -> Ticks | None:
        if isinstance(self.ticks, str):
            return None
        ticks, time = self.ticks, self.ticks.stream_time.as_declared
        max_jump = ticks.max_jump or _JUMP_WINDOWS * self.window
        idle = ticks.idle or _IDLE_WINDOWS * self.window
        return Ticks(*ticks.milliseconds, max_jump, idle, ticks.several, time)

    def parameters(self) -> dict[str, object]:
        return {
            "window": f"{self.window} ticks: a value leaves at its own or a later one of them",
            **({} if self.epsilon is None else {"epsilon": f"{self.epsilon:g} nats"}),
            **self._threshold_in_words,
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

    @property
    def _threshold_in_words(self) -> dict[str, object]:
        return {}

    def not_covered(self, *, copies: bool, budget: bool, partials: str) -> list[str]:
        if isinstance(self.ticks, Interval):
            return [
                "when a stream begins: its first release follows its first record, which is not "
                f"released, by {self.window + 1} ticks"
            ]
        copied = (
            "records that a producer sent twice (source.dedupe is not set): each copy is a tick, "
            "and its value is published once more"
        )
        return [
            "when records arrive and how many there are: every record is a tick, and a release has "
            "the time of the record of its tick",
            *([copied] if copies else []),
        ]

    def how_to_read(self) -> list[str]:
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


class CalibratedOperator(TemporalOperator):
    """Let a calibration say which delays epsilon is that of."""

    calibrate: Calibrate = "visible"
    """Say which delays `epsilon` is that of: those that are seen, or the paper's."""

    def _check_parameters(self) -> None:
        if self.calibrate == "nominal" and self.epsilon is not None and not self.accept_unsound:
            exact = visible(self.window, min(self.epsilon, LARGEST_EPSILON))
            raise ValueError(
                f"calibrate: with nominal, the delays that are seen of forward_perturbation have "
                f"{exact:.4g} nats, more than the epsilon of {self.epsilon:g}; delete it, or write "
                "accept_unsound: true to reproduce the paper"
            )
        super()._check_parameters()


class ThresholdOperator(TemporalOperator):
    """Let a threshold decide when a value leaves, instead of an epsilon or beside it."""

    threshold: int | None = None
    """Say how many values wait before one leaves: c0 in texts; without it, `epsilon` chooses."""
    start: Literal["stationary", "cold"] = "stationary"
    """Say how a stream begins; `cold` is the paper's, and breaks the bound on early delays."""

    def _check_parameters(self) -> None:
        if self.start == "cold" and not self.accept_unsound:
            raise ValueError(
                "start: a cold start is the paper's, and breaks the bound on early delays; delete "
                "it, or write accept_unsound: true to reproduce the paper"
            )
        if self.threshold is None:
            self.nats()

    @property
    def _threshold_in_words(self) -> dict[str, object]:
        return {} if self.threshold is None else {"threshold": self.threshold}
