"""What an evaluation says about a candidate, whatever its values are; and what streams spent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.estimates import Estimate, mean_per_record
from fugu.dataflows.offline.evaluation.run import Run
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.mechanism import Array, Kind

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

    def own_notes(self) -> list[str]:
        """What to know of this candidate."""
        ...


Mask = NDArray[np.bool_]

Measure = Callable[[Candidate, Sample, Sequence[Run]], Utility]
"""Compares the releases of all runs with the truth."""


def mean_cost(
    sample: Sample, runs: Sequence[Run], cost: Callable[[Array, Array], Array]
) -> Estimate:
    """The mean of `cost(truth, released)` over everything that was published."""
    totals, counts = [], []
    for run in runs:
        records = run.records[run.published]
        costs = cost(sample.decoded.values[records], run.releases.values[run.published])
        totals.append(sample.by_stream(records, costs))
        counts.append(sample.by_stream(records, np.ones(len(records))))
    return mean_per_record(np.stack(totals), np.stack(counts))


@dataclass(frozen=True)
class Spending:
    """What records became, and nats that streams spent on them; None: no ledger.

    `repeated`, `still_good` and `suppressed` are shares of records: without a fresh release for
    want of budget, by the operator's own decision, and without any for want of budget. `held_back`
    is how many records waited for the rest of their list in the end, the mean over runs.
    """

    repeated: float
    still_good: float
    suppressed: float
    held_back: float
    spent_per_record: float | None
    mean_spent: float | None
    largest_spent: float | None

    @classmethod
    def of(cls, runs: Sequence[Run], decided: Sequence[Mask] = ()) -> "Spending":
        """Over all runs and streams; `decided` marks repetitions that cost and tell something."""
        kinds = np.concatenate([run.kinds for run in runs])
        records = len(kinds)
        repeated = int(np.count_nonzero(kinds == Kind.REPEATED))
        suppressed = int(np.count_nonzero(kinds == Kind.SUPPRESSED))
        spent = [run.spent for run in runs if run.spent is not None]
        held_back = sum(run.held_back for run in runs)
        still_good = sum(int(np.count_nonzero(mask)) for mask in decided)
        return cls(
            repeated=(repeated - still_good) / records,
            still_good=still_good / records,
            suppressed=(suppressed - held_back) / records,
            held_back=held_back / len(runs),
            spent_per_record=float(np.sum(spent)) / records / UNITS_PER_NAT if spent else None,
            mean_spent=float(np.mean(spent)) / UNITS_PER_NAT if spent else None,
            largest_spent=float(np.max(spent)) / UNITS_PER_NAT if spent else None,
        )

    def document(self) -> dict[str, object]:
        """The same for a machine."""
        return asdict(self)

    def tables(self) -> Mapping[str, Cells]:
        """Two tables; of what would say nothing, the printer leaves out columns or all."""
        return {
            "What was spent, in nats: on a record, by a stream, and by the stream with most": {
                "record": _nats(self.spent_per_record),
                "stream": _nats(self.mean_spent),
                "most": _nats(self.largest_spent),
            },
            "Records without a fresh release": {
                "repeated": f"{self.repeated:.1%}",
                "still good": f"{self.still_good:.1%}",
                "suppressed": f"{self.suppressed:.1%}",
                "held back": f"{self.held_back:,.4g}",
            },
        }


def _nats(nats: float | None) -> str:
    return "—" if nats is None else f"{nats:.4g}"
