"""Choose how an operator is audited: the only place of the audit that asks a section."""

from collections.abc import Callable, Mapping

from fugu.dataflows.base.errors import CannotBeAudited
from fugu.dataflows.kinds.families.section import Evaluation
from fugu.dataflows.offline.auditing.aggregates.policies import audited_policies
from fugu.dataflows.offline.auditing.aggregates.real_time import audited_real_time
from fugu.dataflows.offline.auditing.aggregates.totals import audited_totals
from fugu.dataflows.offline.auditing.aggregates.windows import audited_windows
from fugu.dataflows.offline.auditing.audited import Audited
from fugu.dataflows.offline.auditing.collected.family import audited_collected
from fugu.dataflows.offline.auditing.displaced.family import audited_displaced
from fugu.dataflows.offline.auditing.records.family import audited_records
from fugu.dataflows.offline.auditing.series.family import audited_series
from fugu.dataflows.pipeline.config import PipelineFile

_FAMILIES: Mapping[Evaluation, Callable[[PipelineFile, int], Audited]] = {
    "records": audited_records,
    "displaced": audited_displaced,
    "series": audited_series,
    "windows": audited_windows,
    "policies": audited_policies,
    "real_time": audited_real_time,
    "totals": audited_totals,
    "collected": audited_collected,
}


def audited(file: PipelineFile, steps: int) -> Audited:
    """Return worst cases and attacks of any operator; `CannotBeAudited` if there are none."""
    operator = file.pipeline.operator
    if operator.evaluation not in _FAMILIES:
        raise CannotBeAudited(
            f"fugu audit does not know how to attack operators of kind {operator.kind}. Read fugu "
            "explain --json, which has their exact numbers"
        )
    return _FAMILIES[operator.evaluation](file, steps)
