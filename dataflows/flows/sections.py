"""Ask the operator section of a pipeline file what its dataflows need to know."""

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.kinds import AggregateOperator, PolicyOperator
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.pipeline.mechanisms import deduplication_of
from fugu.dataflows.stages.displaced import PayloadsPerTick
from fugu.dataflows.stages.per_record import PerRecord
from fugu.dataflows.stages.private_reports import PrivateReports
from fugu.dataflows.stages.reports import ReportsPerTick
from fugu.dataflows.stages.series import SeriesPerTick
from fugu.dataflows.stages.stage import Admission, StreamStage
from fugu.dataflows.stages.summing import Summing
from fugu.operators.ldp_ids.reporting import CollectingMechanism
from fugu.operators.mechanism import Mechanism
from fugu.operators.randomness import DrawScope
from fugu.operators.realtime.local_release import LocalRealTimeRelease
from fugu.operators.temporal.temporal_perturbation import End, TemporalPerturbation
from fugu.operators.wevent_local.window_reports import WindowReports


def aggregate_of(pipeline: Pipeline) -> AggregateOperator | None:
    """Return the section of an aggregate, whose partial sums are merged; None for streams."""
    return pipeline.operator if isinstance(pipeline.operator, AggregateOperator) else None


def is_merged(pipeline: Pipeline) -> bool:
    """Return whether all partitions tell of their ticks, and one merge releases them."""
    return pipeline.operator.stage.merges


def policies_of(pipeline: Pipeline) -> PolicyOperator | None:
    """Return the section of an aggregate under policies."""
    return pipeline.operator if isinstance(pipeline.operator, PolicyOperator) else None


def publishes_the_truth(pipeline: Pipeline) -> bool:
    """Return whether true figures are published where no policy is relevant."""
    operator = policies_of(pipeline)
    return operator is not None and operator.irrelevant == "exact"


def end_of(pipeline: Pipeline) -> End:
    """Return what becomes of values that streams hold back when the pipeline is finished."""
    operator = pipeline.operator
    if operator.finishing is None:
        raise ConfigurationError(
            f"--finish: {operator.kind} holds nothing back that could be published; leave it out"
        )
    return operator.finishing


def reports_spending(pipeline: Pipeline) -> bool:
    """Return whether streams appear in the ledger: they need a total to spend, and a public key."""
    budget = pipeline.budget
    return budget is not None and budget.window is None and pipeline.sink.key != "none"


def summing_of(
    operator: AggregateOperator,
    mechanism: Mechanism,
    scope: DrawScope,
    source: str,
    admission: Admission,
) -> Summing:
    """Return the stage that sums what users contribute, over the topic identified by `source`; or
    what they report, where that is private before it is summed."""
    ticks, groups = operator.in_ticks(), operator.group_count
    if isinstance(mechanism, CollectingMechanism):
        reporting = mechanism.reporting
        return PrivateReports(
            ticks, groups, admission, reporting=reporting, scope=scope, source=source
        )
    return operator.summing(ticks, admission)


def numbers_of(operator: AggregateOperator, mechanism: Mechanism) -> int:
    """Return how many numbers a tick has in the internal log."""
    if isinstance(mechanism, CollectingMechanism):
        return mechanism.numbers
    return operator.group_count


def stage_of(
    pipeline: Pipeline, mechanism: Mechanism, scope: DrawScope, source: str, admission: Admission
) -> StreamStage:
    """Return the stage of single streams, over the topic identified by `source`."""
    ticks = pipeline.operator.in_ticks()
    if ticks is None:
        return PerRecord(mechanism, scope, source, admission, deduplication_of(pipeline))
    if isinstance(mechanism, LocalRealTimeRelease):
        return SeriesPerTick(mechanism, scope, source, admission, ticks)
    if isinstance(mechanism, WindowReports):
        return ReportsPerTick(mechanism, scope, source, admission, ticks)
    assert isinstance(mechanism, TemporalPerturbation)
    return PayloadsPerTick(mechanism, scope, source, admission, ticks)
