"""Choose how an operator is audited: the only place of the audit that asks a section."""

from collections.abc import Callable, Mapping

from fugu.dataflows.base.errors import CannotBeAudited
from fugu.dataflows.kinds.families.section import Evaluation
from fugu.dataflows.offline.auditing.audited import Audited
from fugu.dataflows.offline.auditing.displaced.family import audited_displaced
from fugu.dataflows.offline.auditing.records import audited_records
from fugu.dataflows.offline.auditing.windows import audited_windows
from fugu.dataflows.pipeline.pipeline_file import PipelineFile

_FAMILIES: Mapping[Evaluation | None, Callable[[PipelineFile, int], Audited]] = {
    "records": audited_records,
    "windows": audited_windows,
