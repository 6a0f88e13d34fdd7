"""Audit kinds that release something for each record, or for each batch of records."""

import numpy as np

from fugu.dataflows.offline.auditing.audited import Audited, Check
from fugu.dataflows.offline.auditing.line import Line
from fugu.dataflows.offline.auditing.records.noise import noise_checks
from fugu.dataflows.offline.auditing.records.past import after_the_first_tick, later_phases
from fugu.dataflows.offline.auditing.records.phases import Phase
from fugu.dataflows.offline.auditing.records.subject import Subject
from fugu.dataflows.offline.auditing.records.worlds import Start
from fugu.dataflows.offline.auditing.restarts import restart_check
from fugu.dataflows.pipeline.config import Pipeline, PipelineFile
from fugu.dataflows.pipeline.mechanisms import Configured, configure
from fugu.operators.mechanism import TimedMechanism

_STREAMS = 50
STOPS = (
    "the stop of the pipeline when a budget is exhausted: runs go on, and suppress what is not paid"
)
FIRST_TICK = (
    "the tick of a stream's first record, which is public: attacked are those after it, with a "
    "record and without"
)
GAPS = "gaps in event time: every record comes one step of the model after the last one"
DRIFTING = (
    "models of the set whose probabilities change from record to record; and, where a stream goes "
    "on from an earlier state, all but the middle one"
)
BESIDE = "names, release ids, dead letters and the ledger: attacked is what sanitized records say"


def audited_records(file: PipelineFile, steps: int) -> Audited:
    """Return worst cases and attacks over `steps` releases of each stream."""
    pipeline, missed = file.pipeline, [BESIDE]
    budget = pipeline.budget
    if budget is not None and budget.when_exhausted == "stop":
        going_on = budget.model_copy(update={"when_exhausted": "suppress"})
        pipeline = pipeline.model_copy(update={"budget": going_on})
        missed.append(STOPS)
    return audited_pipeline(pipeline, configure(file.replacing(pipeline)), steps, missed)


def audited_pipeline(
    pipeline: Pipeline, configured: Configured, steps: int, missed: list[str]
) -> Audited:
    """Return the same of any mechanism that takes the records of a pipeline."""
    mechanism, operator = configured.mechanism, pipeline.operator
    subject = Subject.of(mechanism, operator.nats_per_release, operator.audit_inputs())
    fresh = Start(Line(pipeline, configured), subject)
    if fresh.line.ticks is not None:
        fresh = after_the_first_tick(fresh)
        missed = [*missed, FIRST_TICK]
    later, unreachable = later_phases(fresh, steps)
    phases = [Phase.of(fresh, steps), *(Phase.of(one, steps) for one in later)]
    if operator.finishing is not None and subject.records > 1:
        last = subject.drained(subject.records - 1)
        phases.append(Phase.of(Start(fresh.line, last), 1, finished=True))
    if isinstance(mechanism, TimedMechanism) and mechanism.tick_milliseconds is not None:
        missed.append(GAPS)
    if subject.others:
        missed.append(DRIFTING)
    attacked = {claim.notion for phase in phases for claim in phase.subject.claims}
    unclaimed = [line for line in subject.unattacked if line.partition(" ")[0] not in attacked]
    return Audited(
        worst=tuple(case for phase in phases for case in phase.worst),
        checks=(
            *(c for phase in phases for c in phase.checks),
            *noise_checks(fresh),
            _restart_check(fresh, steps),
        ),
        attacks=tuple(attack for phase in phases for attack in phase.attacks()),
        not_reached=(
            *(line for phase in phases for line in phase.missed()),
            *unreachable,
            *unclaimed,
            *missed,
        ),
        sound=subject.sound,
    )


def _restart_check(fresh: Start, steps: int) -> Check:
    shape = steps * fresh.subject.records, _STREAMS
    values = np.random.default_rng(0).choice(fresh.subject.inputs, shape)
    return restart_check(fresh.line, [[*map(fresh.line.content, row)] for row in values.tolist()])
