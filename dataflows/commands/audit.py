"""`fugu audit`: exact numbers of the configured mechanism, then attacks on it as a black box."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import orjson
from rich.console import Console

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.commands.pictures import require_picture
from fugu.dataflows.commands.progress import progress
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.pipeline.pipeline_file import PipelineFile


@dataclass(frozen=True)
class Options:
    """Hold how hard to attack, and what to show; `confidence` is in per cent."""

    runs: int
    steps: int
    confidence: float
    seed: int
    plot: Path | None
    as_json: bool


def audit(file: PipelineFile, options: Options) -> bool:
    """Print what was found; true if no claim broke. Neither Kafka nor the secret is needed."""
    _check(options)
    from fugu.dataflows.offline.auditing.attacks import Effort, carried_out, planned, sources
    from fugu.dataflows.offline.auditing.exact import exhaustive
    from fugu.dataflows.offline.auditing.report import Report
    from fugu.dataflows.offline.auditing.streams import GuessedStreams, KnownStreams, Streams
    from fugu.dataflows.offline.auditing.subject import Subject
    from fugu.dataflows.offline.auditing.tables import print_report

    mechanism = configure(file).mechanism
    operator = file.pipeline.operator
    if operator.claims_about is not None:
        raise FuguError(
            f"fugu audit attacks claims about the values of single streams, and {mechanism.kind} "
            f"makes one about {operator.claims_about}; fugu explain --json has its exact numbers"
        )
    subject = Subject.of(mechanism, operator.nats_per_release, operator.audit_inputs())
    exact = exhaustive(subject)
    streams: Streams = GuessedStreams(subject, options.steps)
    if exact is not None and len(exact.paths) >= options.steps:
        streams = KnownStreams(exact.paths[: options.steps], subject.model)
    attacks = planned(subject.claims, streams)
    effort = Effort(options.runs, options.confidence, options.seed)
    console = Console()
    shown = console.is_terminal and not options.as_json
    total = len(sources(attacks)) * options.runs
    with progress(console, "attacking", total, shown=shown) as advance:
        findings = list(carried_out(subject, attacks, effort, advance))
    report = Report(
        pipeline=file.pipeline.name,
        mechanism=f"{mechanism.kind} (implementation {mechanism.implementation})",
        law=mechanism.law_digest().hex()[:16],
        numbers=mechanism.audit(),
        sound=subject.sound,
        exact=exact,
        effort=effort,
        out_of_reach=effort.out_of_reach(attacks),
        findings=findings,
    )
    if options.plot is not None:
        from fugu.dataflows.offline.auditing.plot import save

        save(report, options.plot)
    if options.as_json:
        print(orjson.dumps(report.document(), option=orjson.OPT_INDENT_2).decode())
    else:
        print_report(console, report)
    return not report.broken


def _check(options: Options) -> None:
    plot = options.plot
    packages = ("scipy",) if plot is None else ("scipy", "matplotlib")
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise FuguError(
            f"fugu audit needs {' and '.join(missing)}: pip install 'fugu-streams[audit]'"
        )
    require_picture(plot)
