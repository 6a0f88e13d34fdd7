"""Say what every kind of operator answers, whoever asks."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, Self

import orjson
from pydantic import model_validator

from fugu.dataflows.base.section import Section
from fugu.dataflows.base.ticks import MILLISECOND, Ticks
from fugu.dataflows.kinds.families.leakage import TemporalLeakage
from fugu.dataflows.records.values import Values
from fugu.dataflows.stages.stage_kind import StageKind
from fugu.operators.budget import without_budget
from fugu.operators.leakage.combined import about_one_value
from fugu.operators.mechanism import Array, Mechanism
from fugu.operators.temporal.temporal_perturbation import End

Noise = Literal["laplace", "normal", "filtered", "running totals", "factorised totals"]
"""Name the law of the error of a figure: that of noise which is new at each measurement; an error
that a filter carries from tick to tick; that of sums of all ticks so far; or that of such sums
whose errors are known to go together."""
Evaluation = Literal[
    "records",
    "displaced",
    "series",
    "windows",
    "policies",
    "real_time",
    "totals",
    "anonymity",
    "collected",
]
"""Name what `fugu evaluate` and `fugu audit` do with a kind."""


def _as_written(value: object) -> object:
    """Write what JSON does not have as a pipeline file does."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, timedelta):
        return f"{value // MILLISECOND}ms"
    raise TypeError(type(value).__name__)


class Files(Protocol):
    """Find files that a pipeline file mentions."""

    def resolve(self, relative: str) -> Path:
        """Return the path of a file that is named relative to the pipeline file."""
        ...


class OperatorSection(Section, ABC):
    """Build everything that one kind of operator needs, and answer what others ask about it.

    A kind is a class of its own, with `kind: Literal[...]`, in a file of `fugu.dataflows.kinds`.
    Where nothing else is said, a kind releases something for each record and charges for it.
    """

    order: ClassVar[int] = 1_000
    """The place in tables and among rivals; those of one place are sorted by name."""
    example: ClassVar[str]
    """A short section in YAML, without its kind."""
    protected: ClassVar[str]
    """Say what is protected, and per what."""

    mechanism_class: ClassVar[type[Any] | None] = None
    """The class of the mechanism, where one releases each record of a key by itself."""
    reads: ClassVar[frozenset[str]]
    """Keys of the section that say how records are read."""
    stage: ClassVar[StageKind] = StageKind.PER_RECORD
    evaluation: ClassVar[Evaluation] = "records"
    claims_about: ClassVar[str | None] = None
    """Name what the claim is about, where it is not about values of single streams."""
    several_fields: ClassVar[bool] = False
    under_policies: ClassVar[bool] = False
    no_budget: ClassVar[str | None] = None
    """Why there is no budget beside the section, where there may be none."""
    source_budget: ClassVar[bool] = True
    """Say whether the kind states what `source.budget` counts."""
    promises_per: ClassVar[Literal["release", "window"]] = "release"
    """Say what epsilon counts, so that kinds are compared with those that count alike."""
    no_dedupe: ClassVar[str | None] = None
    """Why copies of records do no harm in ticks of event time."""
    no_original_key: ClassVar[str | None] = None
    """Why releases cannot have the key of a user, where they cannot."""
    stays_because: ClassVar[str] = "every partition stands at ticks of its own"
    """Why streams cannot be moved to other partitions, where they cannot."""
    spent_in: ClassVar[str] = "nats"
    noise: ClassVar[Noise | None] = None
    """The law of the error of figures that carry a standard error."""
    published_whole: ClassVar[bool] = True
    """Say whether the section and the files that it names are public, so that a promise may hold
    all of them."""
    instead: ClassVar[Mapping[str, str]] = {}
    """Hold the answers to keys that only other kinds of the family have."""
    on_disk_because: ClassVar[str] = ""
    """Say what copies, whose state is in Kafka, cannot do for the kind; empty where they run it."""

    kind: str
    """The kind of operator."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_keys_of_other_kinds(cls, given: object) -> object:
        if isinstance(given, dict):
            for name in cls.instead.keys() & given.keys() - cls.model_fields.keys():
                raise ValueError(cls.instead[name].format(name=name, kind=given.get("kind")))
        return given

    @abstractmethod
    def mechanism(self, files: Files) -> Mechanism:
        """Return the mechanism; `ValueError` names the parameter that does not go."""

    @abstractmethod
    def values(self, fields: Sequence[str]) -> Values:
        """Return how values are read from these fields of a record, and written."""

    @abstractmethod
    def parameters(self) -> dict[str, object]:
        """Return what people want to see of the section."""

    @abstractmethod
    def how_to_read(self) -> list[str]:
        """Return what an analyst must know of the output."""

    def fields_read(self, fields: Sequence[str]) -> Sequence[str]:
        """Return the fields of a record that values are read from."""
        return fields

    def published(self) -> dict[str, Any]:
        """Return the section as a promise shows it: without who moves stream time."""
        declared = self.model_dump(by_alias=True, exclude_unset=True)
        if isinstance(declared.get("ticks"), dict):
            declared["ticks"].pop("stream_time", None)
        shown: dict[str, Any] = orjson.loads(orjson.dumps(declared, default=_as_written))
        return shown

    def estimator(self, mechanism: Mechanism) -> Mapping[str, float]:
        """Return the numbers of the law that estimates need, where a release does not hold them."""
        return {}

    def in_ticks(self) -> Ticks | None:
        """Return the ticks of event time; None where every record counts by itself."""
        return None

    @property
    def streams_can_move(self) -> bool:
        """Return whether no partition stands at ticks of its own, so that rows go anywhere."""
        return not self.stage.merges and self.in_ticks() is None

    @property
    def people_can_move(self) -> bool:
        """Return whether keys may be in other partitions from now on: with rows that go anywhere,
        or because a merge is told of it."""
        return self.stage is StageKind.AGGREGATE or self.streams_can_move

    @property
    def releases_record_by_record(self) -> bool:
        """Return whether releases follow the records of a partition, one by one."""
        return self.streams_can_move and self.finishing is None

    @property
    def nats_per_release(self) -> float:
        """Return what a release costs, for kinds whose budget counts releases."""
        return float(getattr(self, "epsilon", 0.0))

    @property
    def records_per_release(self) -> int:
        """Return how many records a release is about."""
        return 1

    @property
    def nats_per_record(self) -> float:
        """Return what a record may cost, relative to a model where there is one."""
        return self.nats_per_release / self.records_per_release

    @classmethod
    def spending(cls, nats: float, own: Self | None = None) -> dict[str, object]:
        """Return the keys with which a record costs so many nats, in the proportions of `own`."""
        return {"epsilon": nats}

    @property
    def finishing(self) -> End | None:
        """Return what `fugu run --finish` does with what is held back; None where nothing is."""
        return None

    def check_fields(self, fields: Sequence[str], time: str | None, event: str | None) -> None:
        """Raise `ValueError` if a field is released that says where a record comes from."""
        return

    def check_life(self, *, limited: bool) -> None:
        """Raise `ValueError` if streams may lose more and more, and the section must accept it.

        `limited`: a budget limits what a stream spends over its whole life.
        """
        return

    def refuse_large_sums(self, people: int) -> None:
        """Raise `ValueError` if so many people may add up to more than is counted."""
        return

    def covers(self, key: bytes) -> bool:
        """Return whether the records of this key may count."""
        return True

    def not_covered(self, *, copies: bool, budget: bool, partials: str) -> list[str]:
        """Return what the pipeline around the mechanism leaves open.

        `copies` of records may have been sent, there is a `budget` or not, and exact sums of
        aggregates go into the topic `partials`.
        """
        copied = (
            "records that a producer sent twice (source.dedupe is not set): each copy is a release "
            "of its own, and is charged"
        )
        unlimited = (
            "a total over a stream's life (budget is not set): every release adds to what is "
            "spent, without a limit"
        )
        return [*([copied] if copies else []), *([] if budget else [unlimited])]

    def remarks(self, files: Files, mechanism: Mechanism) -> list[str]:
        """Return what runs, but hardly does what was meant."""
        return []

    def temporal_leakage(self, mechanism: Mechanism) -> TemporalLeakage | None:
        """Return what readers learn who know a declared correlation; None where none is."""
        return None

    def nats_of_one_value(self, mechanism: Mechanism) -> float | None:
        """Return the most that one release, or tick, tells about one value, if that changes and
        nothing else does; None where no promise without a model says so."""
        return about_one_value(without_budget(mechanism).guarantees())

    def audit_inputs(self) -> Array | None:
        """Return values to attack with, first and last unlike each other; None: all symbols."""
        return None
