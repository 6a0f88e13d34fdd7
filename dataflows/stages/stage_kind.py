"""Name the stages that run operators, so that a section can say which one runs its kind."""

from collections.abc import Callable
from enum import Enum
from functools import partial

from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.records.deduplication import Deduplication
from fugu.dataflows.stages.displaced import tick_columns
from fugu.dataflows.stages.per_record import row_columns
from fugu.dataflows.stages.reports import report_columns
from fugu.dataflows.stages.series import series_columns
from fugu.dataflows.stages.summing import cells
from fugu.dataflows.stages.windows import window_cells
from fugu.operators.ldp_ids.reporting import CollectingMechanism
from fugu.operators.mechanism import Mechanism, State
from fugu.operators.personal_cap import cap_of


class StageKind(Enum):
    """Tell how records of a stream are brought to a mechanism."""

    PER_RECORD = "per record"
    DISPLACED = "displaced in time, per tick, or per record where every record is one"
    SERIES = "one number per tick"
    REPORTS = "one report per tick, or per record where every record is one"
    AGGREGATE = "figures over all users, per tick"
    WINDOW = "records of all users, anonymised per tick"

    @property
    def merges(self) -> bool:
        """Return whether all partitions tell of their ticks, and one merge releases them."""
        return self in (StageKind.AGGREGATE, StageKind.WINDOW)

    def columns(
        self, mechanism: Mechanism, ticks: Ticks | None, deduplication: Deduplication | None
    ) -> Callable[[int], State]:
        """Return what makes the columns of so many rows in the state of the stage."""
        if ticks is None:
            return row_columns(mechanism, deduplication)
        match self:
            case StageKind.AGGREGATE if isinstance(mechanism, CollectingMechanism):
                reporting = mechanism.reporting
                return lambda rows: {**cells(ticks, rows), **reporting.start(rows)}
            case StageKind.AGGREGATE:
                return partial(cells, ticks, cap=cap_of(mechanism))
            case StageKind.WINDOW:
                return partial(window_cells, ticks)
            case StageKind.SERIES:
                return series_columns(mechanism, ticks)
            case StageKind.REPORTS:
                return report_columns(mechanism, ticks)
            case _:
                return tick_columns(mechanism, ticks)
