"""Hold an evaluation as data: what was compared and measured, and what to know of it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from rich.table import Table

from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.estimates import Estimate
from fugu.dataflows.offline.evaluation.sample import RefusedLines, Sample
from fugu.dataflows.pipeline.guarantee_text import in_words
from fugu.operators.guarantee import Notion

Cells = Mapping[str, str]
"""One row of a table: what stands under each heading."""


class Appendix(NamedTuple):
    """Hold a table of its own below those that compare candidates."""

    title: str
    table: Table


class Figure(NamedTuple):
    """Hold one figure: its key for a machine, and its cell in a table; some have only one."""

    key: str
    value: object
    table: str = ""
    column: str = ""
    cell: str = ""


def document_of(figures: Iterable[Figure]) -> dict[str, object]:
    """Write figures for a machine."""
    return {one.key: one.value for one in figures if one.key}


def tables_of(figures: Iterable[Figure]) -> Mapping[str, Cells]:
    """Write a row of each of several tables, by the table's title."""
    tables: dict[str, dict[str, str]] = {}
    for one in figures:
        if one.table:
            tables.setdefault(one.table, {})[one.column] = one.cell
    return tables


class Utility(ABC):
    """Say how useful the releases of one candidate are."""

    @abstractmethod
    def figures(self) -> Iterable[Figure]:
        """Return everything that was measured."""

    def document(self) -> dict[str, object]:
        """Write it for a machine."""
        return document_of(self.figures())

    def tables(self) -> Mapping[str, Cells]:
        """Write a row of each table."""
        return tables_of(self.figures())

    def ranked_by(self) -> tuple[str, Estimate] | None:
        """Return the error that rows are ranked by and drawn at, with its unit, if there is one."""
        return None

    def why(self) -> str:
        """Say what the error comes from, in a few words, where one figure tells it."""
        return ""

    def notes(self) -> Sequence[str]:
        """Say what to know of this candidate alone."""
        return ()


U = TypeVar("U", bound=Utility, covariant=True)


@dataclass(frozen=True, eq=False)
class Row(Generic[U]):
    """Pair one candidate with its utility; `configured` is the pipeline as its file has it."""

    candidate: Candidate
    configured: bool
    utility: U

    def document(self) -> dict[str, object]:
        """Return the same for a machine; nats are None where nothing is promised."""
        candidate, promised = self.candidate, dict[str, object]()
        if candidate.window is None:
            promised["sound"] = candidate.sound
            for name in ("per_record", "per_release", "per_stream"):
                nats = getattr(candidate, name)
                promised[f"nats_{name}"] = {notion: nats(notion) for notion in ("ldp", "sip")}
        return {
            "operator": candidate.kind,
            "settings": dict(candidate.settings),
            "epsilon": candidate.epsilon,
            **({} if candidate.window is None else {"window": candidate.window}),
            "configured": self.configured,
            **promised,
            "guarantees": [in_words(some) for some in candidate.mechanism.guarantees()],
            "utility": self.utility.document(),
        }


@dataclass(frozen=True, eq=False)
class Beside:
    """Hold a row that is no candidate; without an epsilon, it is the same for all."""

    name: str
    tables: Mapping[str, Cells]
    epsilon: float | None


@dataclass(frozen=True, eq=False)
class Report(Generic[U]):
    """Hold one evaluation; `extra` are the fields of its family for a machine."""

    pipeline: str
    sample: Sample
    refused: Sequence[RefusedLines]
    runs: int
    seed: int
    rows: Sequence[Row[U]]
    beside: Sequence[Beside] = ()
    notions: tuple[Notion, ...] = ()
    notes: Sequence[str] = ()
    extra: Mapping[str, object] | None = None
    appendix: Sequence[Appendix] = ()
    draw: Callable[[Path], None] = lambda path: None
    ranking: Sequence[str] = ()
    """Rows by their error, among those whose proved privacy is equal, in words."""

    @property
    def own(self) -> Row[U]:
        """Return the pipeline as configured, or a candidate of its kind where that is not there."""
        return next((row for row in self.rows if row.configured), self.rows[0])

    def document(self) -> dict[str, object]:
        """Return the same for a machine."""
        return {
            "pipeline": self.pipeline,
            "sample": {
                "file": str(self.sample.path),
                "records": self.sample.records,
                "streams": self.sample.stream_count,
                "refused": [asdict(some) for some in self.refused],
            },
            "runs": self.runs,
            "seed": self.seed,
            "candidates": [row.document() for row in self.rows],
            "ranking": list(self.ranking),
            "notes": list(self.notes),
            **(self.extra or {}),
        }
