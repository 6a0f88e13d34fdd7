"""Compute exact numbers of the configured mechanism, then attack it as a black box."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from fugu.dataflows.base.errors import CannotBeAudited
from fugu.dataflows.base.install import install
from fugu.dataflows.commands.arguments import (
    AsJson,
    KeyField,
    PipelineArgument,
    Plot,
    Seed,
    refuse_given,
)
from fugu.dataflows.commands.output import Terminal, print_json, progress, require_picture
from fugu.dataflows.kinds import AnonymizeOperator
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure

_OF_STREAMS = {"runs": "--runs", "steps": "--steps", "confidence": "--confidence"}
_OF_WINDOWS = {"sample": "--sample", "key_field": "--key-field"}


def audit(
    context: typer.Context,
    pipeline: PipelineArgument,
    runs: Annotated[int, typer.Option(min=1_000, help="Runs of each attacked stream.")] = 50_000,
    steps: Annotated[int, typer.Option(min=1, max=64, help="Releases of each run.")] = 4,
    confidence: Annotated[
        float, typer.Option(min=50.0, max=99.999999, help="Of all bounds together, in per cent.")
    ] = 99.9,
    sample: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="anonymize: windows of records, one JSON object per line; otherwise made-up ones.",
        ),
    ] = None,
    key_field: KeyField = "key",
    seed: Seed = 0,
    plot: Plot = None,
    as_json: AsJson = False,
) -> bool:
    """Attack the configured pipeline on neighbouring inputs.

    Prints exact worst cases, where there are few enough outcomes to follow all of them.
    Then runs the pipeline many times on inputs that its guarantee calls neighbouring.
    What tells them apart is a lower bound of the privacy loss. The pipeline's secret is not used.
    For anonymize, linkage attacks are counted instead: before, after stage 1, and as released.

    Exit code 0: nothing exceeds the claim. 1: a bound exceeds the claim. 2: the file
    or an option is not usable. 3: this pipeline cannot be audited. 130: Ctrl-C. The last three are
    no verdict. With --json, `status` is `survived`, `broken` or `cannot be audited`.
    """
    operator = pipeline.pipeline.operator
    if isinstance(operator, AnonymizeOperator):
        refuse_given(context, _OF_STREAMS, "anonymize is attacked once, exactly")
        require_picture(plot)
        from fugu.dataflows.commands.audit_windows import attacked_windows

        return attacked_windows(pipeline, operator, sample, key_field, seed, plot, as_json=as_json)
    refuse_given(context, _OF_WINDOWS, f"{operator.kind} is attacked on made-up records")
    try:
        return _audited(pipeline, runs, steps, confidence, seed, plot, as_json=as_json)
    except CannotBeAudited as reason:
        if as_json:
            name = pipeline.pipeline.name
            print_json({"pipeline": name, "status": "cannot be audited", "reason": str(reason)})
        raise


def _audited(
    pipeline: PipelineFile,
    runs: int,
    steps: int,
    confidence: float,
    seed: int,
    plot: Path | None,
    *,
    as_json: bool,
) -> bool:
    """Attack, print what was found, and return whether the claim survived."""
    _require_packages(plot)
    from fugu.dataflows.offline.auditing.attacks import Effort, carried_out, worlds
    from fugu.dataflows.offline.auditing.families.by_section import audited
    from fugu.dataflows.offline.auditing.report import Report
    from fugu.dataflows.offline.auditing.tables import print_report

    mechanism = configure(pipeline).mechanism
    prepared = audited(pipeline, steps)
    attacks, effort = prepared.attacks, Effort(runs, confidence, seed)
    console = Terminal()
    shown = console.is_terminal and not as_json
    total = len(worlds(attacks)) * runs
    with progress(console, "attacking", total, shown=shown) as advance:
        findings = carried_out(attacks, effort, advance)
    report = Report(
        pipeline=pipeline.pipeline.name,
        mechanism=f"{mechanism.kind} (implementation {mechanism.implementation})",
        law=mechanism.law_digest().hex()[:16],
        numbers=mechanism.audit(),
        audited=prepared,
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
        raise CannotBeAudited(f"fugu audit needs {' and '.join(missing)}: {install('audit')}")
    require_picture(plot)
