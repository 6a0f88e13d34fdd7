"""What an evaluation says about a candidate, whatever its values are; and what streams spent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

import numpy as np

from dataflows.evaluation.candidates import Candidate
from dataflows.evaluation.estimates import Estimate, mean_per_record
from dataflows.evaluation.run import Run
from dataflows.evaluation.sample import Sample
from operators.mechanism import Array, Kind
from operators.nats import UNITS_PER_NAT

Cells = Mapping[str, str]
"""One row of a table: what stands under each heading."""
Lines = Mapping[str, Estimate]
"""One point on each of several lines of a panel, by the line's label; the main one has none."""


class Utility(Protocol):
    """How useful the releases of one candidate are."""

    def document(self) -> dict[str, object]:
        """Everything, for a machine."""
        ...

    def tables(self) -> Mapping[str, Cells]:
        """A row of each of several tables, by the table's title."""
        ...

    def panels(self) -> Mapping[str, Lines]:
        """What to draw over epsilon, by the panel's title; the same titles for all candidates."""
        ...

    def notes(self) -> list[str]:
        """What to know of the tables."""
        ...


Measure = Callable[[Candidate, Sample, Sequence[Run]], Utility]
"""Compares the releases of all runs with the truth."""


def mean_cost(
    sample: Sample, runs: Sequence[Run], cost: Callable[[Array, Array], Array]
) -> Estimate:
    """The mean of `cost(truth, released)` over everything that was published."""
    totals, counts = [], []
    for run in runs:
        published = run.kinds != Kind.SUPPRESSED
        records = run.records[published]
        costs = cost(sample.decoded.values[records], run.releases.values[published])
        totals.append(sample.by_stream(records, costs))
        counts.append(sample.by_stream(records, np.ones(len(records))))
    return mean_per_record(np.stack(totals), np.stack(counts))


@dataclass(frozen=True)
class Spending:
    """Shares of records without a fresh release, and nats that streams spent; None: no ledger."""

    repeated: float
    suppressed: float
    mean_spent: float | None
    largest_spent: float | None

    @classmethod
    def of(cls, runs: Sequence[Run]) -> "Spending":
        """Over all runs and streams."""
        kinds = np.concatenate([run.kinds for run in runs])
        spent = [run.spent for run in runs if run.spent is not None]
        return cls(
            repeated=float(np.mean(kinds == Kind.REPEATED)),
            suppressed=float(np.mean(kinds == Kind.SUPPRESSED)),
            mean_spent=float(np.mean(spent)) / UNITS_PER_NAT if spent else None,
            largest_spent=float(np.max(spent)) / UNITS_PER_NAT if spent else None,
        )

    def document(self) -> dict[str, object]:
        """The same for a machine."""
        return asdict(self)

    def cells(self) -> Cells:
        """What a table shows; columns that would say nothing are left out by the table."""
        return {
            "mean": "—" if self.mean_spent is None else f"{self.mean_spent:.4g}",
            "most": "—" if self.largest_spent is None else f"{self.largest_spent:.4g}",
            "repeated": f"{self.repeated:.1%}",
            "suppressed": f"{self.suppressed:.1%}",
        }
