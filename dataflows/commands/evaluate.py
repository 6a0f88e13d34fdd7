"""Measure offline how useful releases are, for a grid of epsilons and operators."""

from pathlib import Path
from typing import Annotated

import typer

from fugu.dataflows.commands.arguments import (
    EPSILON_OPTIONS,
    AsJson,
    KeyField,
    PipelineArgument,
    Plot,
    Seed,
    refuse_given,
)
from fugu.dataflows.commands.output import Terminal, print_json, progress, require_picture
from fugu.dataflows.kinds import AnonymizeOperator
from fugu.dataflows.pipeline.mechanisms import configure

_OF_NOISE = {
    "epsilons": "--epsilons",
    "rivals": "--rivals",
    "average": "--average",
    "count_above": "--count-above",
    "value_range": "--range",
    "windows": "--windows",
    "runs": "--runs",
    "seed": "--seed",
}
_OF_WINDOWS = {"people": "--people", "known": "--known"}


def evaluate(
    context: typer.Context,
    pipeline: PipelineArgument,
    sample: Annotated[
        Path, typer.Option(metavar="FILE", help="One JSON object per line: a record and its key.")
    ],
    key_field: KeyField = "key",
    epsilons: Annotated[
        list[str] | None,
        typer.Option(
            *EPSILON_OPTIONS,
            metavar="0.5,1,2",
            help="Nats per record to try; otherwise half, once and twice the configured.",
        ),
    ] = None,
    rivals: Annotated[
        str | None,
        typer.Option(metavar="KIND,...", help="Operators to compare with; otherwise all that fit."),
    ] = None,
    average: Annotated[
        int | None,
        typer.Option(
            metavar="TICKS", min=1, help="Displaced numbers: average over so many; otherwise 10."
        ),
    ] = None,
    count_above: Annotated[
        float | None,
        typer.Option(help="Displaced numbers: count those above it; otherwise half of all."),
    ] = None,
    value_range: Annotated[
        str | None,
        typer.Option(
            "--range", metavar="40,180", help="Displaced numbers: their range, to try laplace too."
        ),
    ] = None,
    windows: Annotated[
        str | None,
        typer.Option(
            metavar="10,20,40", help="Aggregates: windows to try; otherwise the configured one."
        ),
    ] = None,
    people: Annotated[
        str | None,
        typer.Option(
            metavar="2,5,10",
            help="anonymize: K to try; otherwise half to four times the own.",
        ),
    ] = None,
    known: Annotated[
        str | None,
        typer.Option(metavar="1,2,3", help="anonymize: rho to try; otherwise 1, 2 and the own."),
    ] = None,
    runs: Annotated[
        int,
        typer.Option(
            min=1,
            max=1_000,
            help="Runs of each row, each under another secret.",
        ),
    ] = 5,
    seed: Seed = 0,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Measure, offline, how useful releases of a sample are, for several epsilons and operators.

    Each line of the sample is a record with its key, such as {"key": "user-1", "zone": "rest"}.
    Records go through the very operator of fugu run, under secrets of their own; neither Kafka nor
    the secret of the pipeline is needed. For anonymize: what is lost, against K and rho.
    """
    require_picture(plot)
    operator = pipeline.pipeline.operator
    if isinstance(operator, AnonymizeOperator):
        refuse_given(context, _OF_NOISE, "anonymize adds no noise, and a sample has one result")
        from fugu.dataflows.commands.evaluate_windows import evaluate_windows

        evaluate_windows(
            pipeline, operator, sample, key_field, people, known, plot, as_json=as_json
        )
        return
    refuse_given(context, _OF_WINDOWS, f"{operator.kind} has neither K nor rho")
    from fugu.dataflows.offline.evaluation.families.by_section import family_of
    from fugu.dataflows.offline.evaluation.family import Wanted
    from fugu.dataflows.offline.evaluation.sample import Sample
    from fugu.dataflows.offline.evaluation.tables import print_report

    grid = ",".join(epsilons) if epsilons else None
    wanted = Wanted(grid, rivals, windows, average, count_above, value_range)
    family = family_of(pipeline.pipeline.operator, wanted)
    records = Sample.read(sample, key_field, configure(pipeline).codec)
    plan = family.planned(pipeline, records, wanted)
    console = Terminal()
    shown = console.is_terminal and not as_json
    with progress(console, "evaluating", plan.steps * runs, shown=shown) as advance:
        report = plan.report(runs, seed, advance)
    if plot is not None:
        report.draw(plot)
    if as_json:
        print_json(report.document())
    else:
        print_report(console, report)
