"""Audit kinds that release something for each record, or for each batch of records."""

from fugu.dataflows.offline.auditing.audited import Attack, Audited
from fugu.dataflows.offline.auditing.exact import exhaustive
from fugu.dataflows.offline.auditing.runs import StreamWorld
from fugu.dataflows.offline.auditing.streams import (
    GuessedStreams,
    KnownStreams,
    Stream,
    Streams,
)
from fugu.dataflows.offline.auditing.subject import Claim, Subject
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.pipeline.pipeline_file import PipelineFile


def audited_records(file: PipelineFile, steps: int) -> Audited:
    """Return worst cases and attacks over `steps` releases of each stream."""
    mechanism, operator = configure(file).mechanism, file.pipeline.operator
    subject = Subject.of(mechanism, operator.nats_per_release, operator.audit_inputs())
    return audited_subject(subject, steps)


def audited_subject(subject: Subject, steps: int) -> Audited:
    """Return the same of any mechanism."""
    exact = exhaustive(subject)
    streams: Streams = GuessedStreams(subject, steps)
    not_reached = ["exact worst cases: there are too many inputs or releases to enumerate"]
    if exact is not None:
        not_reached = []
        if len(exact.paths) >= steps:
            streams = KnownStreams(exact.paths[:steps], subject.model)
    return Audited(
        worst=() if exact is None else exact.worst,
        checks=() if exact is None else exact.checks,
        attacks=tuple(planned(subject, streams)),
        not_reached=tuple(not_reached),
        sound=subject.sound,
    )


def planned(subject: Subject, streams: Streams) -> list[Attack]:
    """Plan attacks on every claim: at positions, over whole streams, against the model."""
    steps = streams.steps
    found = []
    for claim in subject.claims:
        if claim.notion == "sip":
            for length in sorted({1, max(1, steps // 2), steps}):
                first = "release 1" if length == 1 else f"releases 1 to {length}"
                one = streams.against_model(length)
                found.append(_attack(subject, claim, first, one, None, streams))
            continue
        for position in sorted({0, steps // 2, steps - 1}):
            name = f"position {position + 1} of {steps}"
            found.append(_attack(subject, claim, name, *streams.neighbours(position), streams))
        if steps > 1:
            found.append(_attack(subject, claim, "whole streams", *streams.strangers(), streams))
    return [attack for attack in found if attack.one != attack.other]


def _attack(
    subject: Subject,
    claim: Claim,
    name: str,
    one: Stream,
    other: Stream | None,
    streams: Streams,
) -> Attack:
    differing = len(one) if other is None else sum(map(int.__ne__, one, other))
    return Attack(
        claim.notion,
        name,
        StreamWorld(subject, one),
        StreamWorld(subject, len(one) if other is None else other),
        claim.over(differing),
        min(1.0, differing * claim.delta),
        streams.exact(one, other),
    )
