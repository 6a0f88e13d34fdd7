"""An evaluation as data: the grid, what was measured, and what to know before comparing."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from fugu.dataflows.base.batches import DeadLetters
from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.remarks import remarks
from fugu.dataflows.offline.evaluation.sample import RefusedLines, Sample, refused_lines
from fugu.dataflows.offline.evaluation.utility import Cells, Utility
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.pipeline.guarantee_text import in_words
from fugu.operators.mechanism import Notion

INSIDE = (
    "All of this is computed from true values: it belongs where the sample is. Keep it inside, "
    "and choose epsilon on data that the pipeline does not protect."
)


@dataclass(frozen=True, eq=False)
class Row:
    """One candidate and how useful it is; `configured` is the pipeline as its file has it."""

    candidate: Candidate
    configured: bool
    utility: Utility

    def document(self) -> dict[str, object]:
        """The same for a machine; nats are None where nothing is promised."""
        candidate = self.candidate
        return {
            "operator": candidate.kind,
            "settings": dict(candidate.settings),
            "epsilon": candidate.epsilon,
            "configured": self.configured,
            "sound": candidate.sound,
            "nats_per_record": {
                "ldp": candidate.per_record("ldp"),
                "sip": candidate.per_record("sip"),
            },
            "nats_per_release": {
                "ldp": candidate.per_release("ldp"),
                "sip": candidate.per_release("sip"),
            },
            "nats_per_stream": {
                "ldp": candidate.per_stream("ldp"),
                "sip": candidate.per_stream("sip"),
            },
            "guarantees": [in_words(some) for some in candidate.mechanism.guarantees()],
            "utility": self.utility.document(),
        }


class Beside(NamedTuple):
    """A row of a table that is no candidate; without an epsilon, it is the same for all."""

    name: str
    cells: Cells
    epsilon: float | None = None


@dataclass(frozen=True, eq=False)
class Report:
    """Everything about one evaluation. `duplicates` are records that the first lift refused."""

    pipeline: Pipeline
    sample: Sample
    duplicates: DeadLetters
    runs: int
    seed: int
    rows: Sequence[Row]

    @property
    def refused(self) -> Sequence[RefusedLines]:
        """Lines without a release."""
        return [*refused_lines(self.sample.decoded.dead), *refused_lines(self.duplicates)]

    @property
    def notions(self) -> tuple[Notion, ...]:
        """Figures to compare in; relative to a model only if somebody states that one."""
        stated = {
            some.notion for row in self.rows for some in row.candidate.unbudgeted.guarantees()
        }
        return ("ldp", "sip") if "sip" in stated else ("ldp",)

    def beside(self, title: str) -> Sequence[Beside]:
        """Rows of a table that are no candidates."""
        return ()

    @property
    def notes(self) -> list[str]:
        """What to know before comparing rows."""
        ldp = "ldp: nats per record that releases may leak, without any model"
        sip = "; sip: relative to the declared model" if "sip" in self.notions else ""
        notes = [
            f"{ldp}{sip}. Compare rows with equal nats in the column that you rely on, not rows "
            "with the same eps."
        ]
        if any(row.configured for row in self.rows):
            notes.append("* is the pipeline as its file has it.")
        if not all(row.candidate.sound for row in self.rows):
            notes.append(
                "! promises nothing: its eps is a claim that fails. What it spent is what it "
                "really leaked, relative to the model."
            )
        if "sip" in self.notions:
            notes.append(
                "what was spent counts nats relative to the model where an operator uses one, and "
                "without any model where not."
            )
        notes += remarks([row.candidate for row in self.rows], self.pipeline.operator.kind)
        notes += self._own_notes()
        notes += self.rows[0].utility.notes()
        notes += self._budget_notes()
        if self.runs > 1:
            notes.append(
                f"± is the standard error of a mean over {self.runs} runs: from the draws alone, "
                "the sample stays the same."
            )
        return [*notes, INSIDE]

    def _own_notes(self) -> list[str]:
        """What to know of single candidates; of several epsilons at once, if it is the same."""
        found: dict[tuple[str, str], list[str]] = {}
        for row in self.rows:
            for note in row.utility.own_notes():
                of = (row.candidate.name, note)
                found.setdefault(of, []).append(f"{row.candidate.epsilon:g}")
        return [f"{name} at eps {', '.join(eps)}: {note}" for (name, note), eps in found.items()]

    def _budget_notes(self) -> list[str]:
        budget = self.pipeline.budget
        if budget is None:
            return []
        window = "" if budget.window is None else f" in any {budget.window} consecutive records"
        notes = [
            f"every operator has the pipeline's budget: {budget.total:g} nats per stream{window}. "
            "Rates and biases are of everything published, repeated releases too; debiased shares "
            "and means are estimated from what was paid for, which need not be a fair sample of "
            "all records, and compared with all of them."
        ]
        if budget.window is None:
            notes.append(f"all releases of a stream together: {', '.join(self._totals())}.")
        if budget.when_exhausted == "stop":
            notes.append(
                "budget.when_exhausted is stop: the pipeline would end with the first exhausted "
                "stream. Here the sample goes on, and what cannot be paid for is suppressed."
            )
        return notes

    def _totals(self) -> list[str]:
        """What every kind of operator promises of a whole stream."""
        candidates = {row.candidate.kind: row.candidate for row in self.rows}
        found = []
        for kind, candidate in candidates.items():
            stated = [(notion, candidate.per_stream(notion)) for notion in self.notions]
            nats = " and ".join(f"{nats:.4g} {notion}" for notion, nats in stated if nats)
            found.append(f"{kind} {nats or 'promises nothing'}")
        return found

    def draw(self, path: Path) -> None:
        """Write a picture; its format follows from the name."""
        from fugu.dataflows.offline.evaluation.plot import save

        save(self, path)

    def document(self) -> Mapping[str, object]:
        """The same for a machine."""
        sample = self.sample
        return {
            "pipeline": self.pipeline.name,
            "sample": {
                "file": str(sample.path),
                "records": sample.records,
                "streams": sample.stream_count,
                "refused": [asdict(some) for some in self.refused],
            },
            "runs": self.runs,
            "seed": self.seed,
            "candidates": [row.document() for row in self.rows],
            "notes": self.notes,
        }
