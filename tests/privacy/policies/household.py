"""A pipeline of figures under policies, from records of policies and sums to releases."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import yaml

from fugu.dataflows.base.batches import Header
from fugu.dataflows.kinds.families.policies import PolicyOperator
from fugu.dataflows.kinds.tinar_uniform import TinarUniformOperator
from fugu.dataflows.kinds.unicorn import UnicornOperator
from fugu.dataflows.kinds.unicorn_is import UnicornIsOperator
from fugu.dataflows.kinds.unicorn_plan import UnicornPlanOperator
from fugu.dataflows.kinds.unicorn_ps import UnicornPsOperator
from fugu.dataflows.policies.signatures import Signatures
from fugu.dataflows.stages.log_entries import (
    Entry,
    PartialSums,
    PoliciesCovered,
    PolicyChange,
    read_entry,
)
from fugu.dataflows.stages.merging import MergeState, Merging, OpenTicks
from fugu.operators.mechanism import Releases
from fugu.operators.randomness import DrawScope, Secret
from fugu.operators.swellfish.relevance import Status
from tests.privacy.policies.questions import QUESTIONS, Question
from tests.privacy.policies.wishes import Grid, Wish

PARTITIONS = 2
TOPIC = "household.policies"
OPERATORS: Mapping[str, type[PolicyOperator]] = {
    "tinar_uniform": TinarUniformOperator,
    "unicorn": UnicornOperator,
    "unicorn_is": UnicornIsOperator,
    "unicorn_plan": UnicornPlanOperator,
    "unicorn_ps": UnicornPsOperator,
}


@dataclass(frozen=True)
class Figure:
    """Hold what is published of a tick."""

    values: tuple[int, ...]
    status: Status
    charge: float
    publication: float
    sensitivity: int
    standard_error: float
    policies: str

    @classmethod
    def of(cls, releases: Releases) -> "Figure":
        """Read the first row."""
        notes = {name: note[0] for name, note in releases.annotations.items()}
        return cls(
            tuple(releases.values[0].tolist()),
            Status(int(notes["status"])),
            float(notes["decision_epsilon"] + notes["publication_epsilon"]),
            float(notes["publication_epsilon"]),
            int(notes["sensitivity"]),
            float(notes["standard_error"]),
            str(notes["policies"]),
        )


def written(
    grid: Grid,
    collections: Mapping[str, list[Wish]],
    question: Question = QUESTIONS["sum"],
    **more: Any,
) -> dict[str, Any]:
    """Return a policy document of these collections; the first one is everybody's."""
    return {
        "version": 1,
        "grid": {"tick": "PT1H", "zone": grid.zone},
        **question.document(),
        "epsilon": 1.0,
        "collections": [
            {
                "id": name,
                "applies_to": {"keys": [f"of-{name}"]} if number else {"default": True},
                "policies": [wish.section() for wish in wishes],
            }
            for number, (name, wishes) in enumerate(collections.items())
        ],
        **more,
    }


@dataclass
class Pipeline:
    """Merge entries of an internal log; it may be killed and go on from any state that it had."""

    operator: PolicyOperator
    secret: Secret | None = None
    """That of owners who sign by HMAC."""
    required: bool = False
    """True if nobody but owners may change anything."""
    log: list[bytes] = field(default_factory=list)
    merged: int = 0
    changes: list[bytes] = field(default_factory=list)
    """The records read from the topic of policies."""
    saved: tuple[int, bytes, bytes] | None = None
    """The number of entries that were merged, the state after them, and the sums that it had."""

    def __post_init__(self) -> None:
        self.strategy = self.operator.strategy()
        self.signatures = Signatures(self.operator.policies, TOPIC, self.required, self.secret)
        scope = DrawScope(Secret(bytes(32)), "home", "unicorn", 1, self.strategy.law_digest())
        self.merge = Merging(
            self.strategy, scope, "topic-id", PARTITIONS, self.operator.group_count, waits=True
        )
        self.state = self.merge.start()

    def change(
        self, key: bytes | None, value: bytes | None, headers: Sequence[Header] = ()
    ) -> None:
        """Take a record of the policy topic; `UnusableChange` if it is none."""
        change = self.signatures.read(key, value, headers, timestamp=0).to_bytes()
        self.log.append(PolicyChange(change, len(self.changes)).encoded())
        self.changes.append(change)

    def partial(self, partition: int, tick: int, values: Sequence[int], skipped: int = 0) -> None:
        """Take what the people of a partition contributed to a tick, and to none right before."""
        sums = PartialSums(partition, tick, np.arange(len(values)), np.array(values), skipped)
        self.log.append(sums.encoded())

    def tick(self, tick: int, values: Sequence[int]) -> list[tuple[int, Figure]]:
        """Take what the people of all partitions contributed, and return what is released."""
        for partition, value in enumerate(values):
            self.partial(partition, tick, [value])
        self.cover(len(self.log) - 1)
        return list(self.released())

    def cover(self, offset: int) -> None:
        """Take a mark: all changes are there that came before the entry at this offset."""
        self.log.append(PoliciesCovered(offset).encoded())

    def released(self) -> Iterator[tuple[int, Figure]]:
        """Merge all entries that are new, and yield ticks and their figures; a plan for the next
        ticks comes behind them."""
        while self.merged < len(self.log):
            entry: Entry = read_entry(self.log[self.merged], "log")
            self.merged += 1
            for tick, releases in self.merge(self.state, entry, self.merged - 1):
                yield tick, Figure.of(releases)
        if (plan := self.merge.plan(self.state)) is not None:
            self.log.append(plan.encoded())

    def save(self) -> None:
        """Keep the state as a snapshot does."""
        sums = self.state.open.take_everything()
        self.saved = self.merged, self.state.encoded(), sums

    def restart(self) -> list[tuple[int, Figure]]:
        """Lose the state, go on from the one that was saved, and return what is released again."""
        if self.saved is None:
            self.state, self.merged = self.merge.start(), 0
        else:
            self.merged, content, sums = self.saved
            self.state = self._restored(content, sums)
        return list(self.released())

    def _restored(self, content: bytes, sums: bytes) -> MergeState:
        def load(_: str) -> OpenTicks:
            table = OpenTicks()
            table.apply(sums)
            return table

        return self.merge.restored(content, load)


def pipeline(
    directory: Path,
    document: dict[str, Any],
    kind: str = "unicorn_ps",
    secret: Secret | None = None,
    required: bool = False,
    **more: Any,
) -> Pipeline:
    """Return a pipeline whose document is read as `fugu` reads it."""
    (directory / "policies.yaml").write_text(yaml.safe_dump(document))
    content = {"kind": kind, "policies": "policies.yaml", "irrelevant": "exact", **more}
    return Pipeline(OPERATORS[kind].model_validate(content, context=directory), secret, required)


def record(wish: Wish | None, effective: int, **more: Any) -> bytes:
    """Return the value of a record that puts a wish there, or removes what is there."""
    what: dict[str, Any] = {"remove": True} if wish is None else {"policy": wish.section()}
    return orjson.dumps({"effective": effective, **what, **more})
