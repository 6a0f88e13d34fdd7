"""Compute exact numbers of the configured mechanism, then attack it as a black box."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.commands.arguments import AsJson, PipelineArgument, Plot, Seed
from fugu.dataflows.commands.output import print_json, progress, require_picture
from fugu.dataflows.pipeline.mechanisms import configure


def audit(
    pipeline: PipelineArgument,
    runs: Annotated[int, typer.Option(min=1_000, help="Runs of each attacked stream.")] = 50_000,
    steps: Annotated[int, typer.Option(min=1, max=64, help="Releases of each run.")] = 4,
    confidence: Annotated[
        float, typer.Option(min=50.0, max=99.999999, help="Of all bounds together, in per cent.")
    ] = 99.9,
    seed: Seed = 0,
    plot: Plot = None,
    as_json: AsJson = False,
) -> bool:
    """Attack the configured operator; exit with 1 if it leaks more than it claims.

    Prints exact worst cases, where the alphabet is small enough to follow all releases.
    Then runs the real operator many times on streams that should be hard to tell apart.
    What can be told apart is a lower bound of what leaks. The pipeline's secret is not used.
    """
    _require_packages(plot)
    from fugu.dataflows.offline.auditing.attacks import Effort, carried_out, planned, sources
    from fugu.dataflows.offline.auditing.exact import exhaustive
    from fugu.dataflows.offline.auditing.report import Report
    from fugu.dataflows.offline.auditing.streams import GuessedStreams, KnownStreams, Streams
    from fugu.dataflows.offline.auditing.subject import Subject
    from fugu.dataflows.offline.auditing.tables import print_report

    mechanism = configure(pipeline).mechanism
    operator = pipeline.pipeline.operator
    if operator.claims_about is not None:
        raise FuguError(
            f"fugu audit attacks claims about the values of single streams, and {mechanism.kind} "
            f"makes one about {operator.claims_about}; fugu explain --json has its exact numbers"
        )
    subject = Subject.of(mechanism, operator.nats_per_release, operator.audit_inputs())
    exact = exhaustive(subject)
    streams: Streams = GuessedStreams(subject, steps)
    if exact is not None and len(exact.paths) >= steps:
        streams = KnownStreams(exact.paths[:steps], subject.model)
    attacks = planned(subject.claims, streams)
    effort = Effort(runs, confidence, seed)
    console = Console()
    shown = console.is_terminal and not as_json
    total = len(sources(attacks)) * runs
    with progress(console, "attacking", total, shown=shown) as advance:
        findings = list(carried_out(subject, attacks, effort, advance))
    report = Report(
        pipeline=pipeline.pipeline.name,
        mechanism=f"{mechanism.kind} (implementation {mechanism.implementation})",
        law=mechanism.law_digest().hex()[:16],
        numbers=mechanism.audit(),
        sound=subject.sound,
        exact=exact,
        effort=effort,
        out_of_reach=effort.out_of_reach(attacks),
        findings=findings,
    )
    if plot is not None:
        from fugu.dataflows.offline.auditing.plot import save

        save(report, plot)
    if as_json:
        print_json(report.document())
    else:
        print_report(console, report)
    return not report.broken


def _require_packages(plot: Path | None) -> None:
    packages = ("scipy",) if plot is None else ("scipy", "matplotlib")
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise FuguError(
            f"fugu audit needs {' and '.join(missing)}: pip install 'fugu-streams[audit]'"
        )
    require_picture(plot)
