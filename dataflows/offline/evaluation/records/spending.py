"""Count what records became, what streams spent, and what releases cost on average."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fugu.dataflows.offline.evaluation.estimates import NOTHING, Estimate, mean_per_record
from fugu.dataflows.offline.evaluation.report import Figure
from fugu.dataflows.offline.evaluation.run import Run
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.mechanism import Array, Kind

_SPENT = "What was spent, in nats: on a record, by a stream, and by the stream with most"
_WITHOUT = "Records without a fresh release"


def mean_cost(
    sample: Sample, runs: Sequence[Run], cost: Callable[[Array, Array], Array]
) -> Estimate:
    """Return the mean of `cost(truth, released)` over everything that was published."""
    totals, counts = [], []
    for run in runs:
        records = run.records[run.published]
        costs = cost(sample.decoded.values[records], run.releases.values[run.published])
        totals.append(sample.by_stream(records, costs))
        counts.append(sample.by_stream(records, np.ones(len(records))))
    return mean_per_record(np.stack(totals), np.stack(counts))


@dataclass(frozen=True)
class Spending:
    """Count what records became, and nats that streams spent on them; None: no ledger.

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
    def of(cls, runs: Sequence[Run], decided: Sequence[NDArray[np.bool_]] = ()) -> "Spending":
        """Count over all runs; `decided` marks repetitions that cost and tell something."""
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

    def figures(self) -> Iterator[Figure]:
        """Return them as rows of two tables."""
        spent = {
            "record": ("spent_per_record", self.spent_per_record),
            "stream": ("mean_spent", self.mean_spent),
            "most": ("largest_spent", self.largest_spent),
        }
        for column, (key, nats) in spent.items():
            yield Figure(key, nats, _SPENT, column, NOTHING if nats is None else f"{nats:.4g}")
        for key in ("repeated", "still_good", "suppressed"):
            share = getattr(self, key)
            yield Figure(key, share, _WITHOUT, key.replace("_", " "), f"{share:.1%}")
        yield Figure("held_back", self.held_back, _WITHOUT, "held back", f"{self.held_back:,.4g}")
