"""Say what pipelines promise, what they do not, and how to read their output."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.arguments import AsJson, PipelineArguments
from fugu.dataflows.commands.connected import Connected
from fugu.dataflows.commands.explain_together import (
    check_budgets,
    print_joint,
    print_together,
    together_documents,
)
from fugu.dataflows.commands.output import Terminal, print_json
from fugu.dataflows.kinds import AlphabetOperator
from fugu.dataflows.pipeline.config import Pipeline, PipelineFile
from fugu.dataflows.pipeline.guarantee_data import guarantee_data, guarantee_id
from fugu.dataflows.pipeline.guarantee_text import (
    in_words,
    parts_in_words,
    pipeline_not_covered,
    protected_in_words,
)
from fugu.dataflows.pipeline.joint import Told
from fugu.dataflows.pipeline.mechanisms import configure, remarks_of
from fugu.dataflows.pipeline.policy_changes import policies_relied_on, who_can_change
from fugu.dataflows.pipeline.source_budget import Promises
from fugu.dataflows.publishing.promise import promise_of
from fugu.dataflows.stages.stage_kind import StageKind
from fugu.operators.leakage.combined import Topology
from fugu.operators.mechanism import Mechanism

LARGEST_SHOWN = 36
"""Numbers that are printed one by one; of more there is a summary, and all of them with --json."""


def explain(
    pipelines: PipelineArguments,
    topology: Annotated[
        Topology | None,
        typer.Option(help="How two pipelines about the same people are connected."),
    ] = None,
    matrix: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="How values of one person follow each other (rows)."),
    ] = None,
    beside_matrix: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The same of the second pipeline; else the same."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what a pipeline promises, what it does not protect, and how to read its output.

    With several files, also what those over one source add up to.
    Exit with 1 if that is more than source.budget allows.

    With --topology, what two pipelines about the same people tell together, also over different
    sources; without it, of those whose ledger.beside declares it.
    """
    require_different([file.path for file in pipelines])
    connected = Connected.of(len(pipelines), topology, matrix, beside_matrix)
    explained = [(file, configure(file).mechanism) for file in pipelines]
    sources: dict[str, list[Promises]] = {}
    for file, mechanism in explained:
        source = file.pipeline.source
        sources.setdefault(source.topic, []).append(
            Promises(file.pipeline.name, mechanism.guarantees(), source.declared_budget)
        )
    joints = connected.joints([Told.of(file.pipeline, one) for file, one in explained])
    if as_json:
        documents = [_document(file, mechanism) for file, mechanism in explained]
        several = {
            "pipelines": documents,
            "sums": together_documents(sources),
            "joint": [one.document() for one in joints],
        }
        print_json(documents[0] if len(documents) == 1 else several)
    else:
        console = Terminal()
        for file, mechanism in explained:
            _print(console, file, mechanism)
        print_together(console, sources)
        for one in joints:
            print_joint(console, one)
    check_budgets(sources)


def require_different(paths: Sequence[Path]) -> None:
    """Raise `ConfigurationError` for a pipeline file that is given twice."""
    seen: set[Path] = set()
    for path in paths:
        if path.resolve() in seen:
            raise ConfigurationError(f"{path}: is given twice; give every pipeline file once")
        seen.add(path.resolve())


def _print(console: Terminal, file: PipelineFile, mechanism: Mechanism) -> None:
    pipeline = file.pipeline
    guarantees = mechanism.guarantees()
    console.print(
        f"\n[bold]{pipeline.name}[/bold]: {pipeline.source.topic} -> {pipeline.sink.topic}"
    )
    parameters = Table(show_header=False, box=None, padding=(0, 2))
    for name, value in parameters_of(file, mechanism).items():
        parameters.add_row(name, str(value))
    console.print(parameters)
    console.print("\n[bold green]What is promised[/bold green]")
    for guarantee in guarantees:
        _print_promise(console, parts_in_words(guarantee))
    leakage = pipeline.operator.temporal_leakage(mechanism)
    if leakage is not None:
        title = "Against adversaries who know how ticks depend on each other"
        _print_list(console, title, [leakage.words, f"Backwards in time: {leakage.backward_is}."])
    relied_on = map(str, [guarantees[0].trust, *guarantees[0].assumptions])
    _print_list(console, "Relies on", [*relied_on, *policies_relied_on(pipeline)])
    if can_change := who_can_change(pipeline):
        _print_list(console, "Who can change policies", can_change)
    not_covered = map(str, guarantees[0].not_covered)
    _print_list(console, "What is not covered", [*not_covered, *pipeline_not_covered(pipeline)])
    console.print("\n[bold]Exact numbers[/bold]")
    for name, number in mechanism.audit().items():
        if not _is_text(number):
            console.print(f"- {name}: {_readable(number)}")
    if to_consider := remarks_of(file, mechanism):
        _print_list(console, "Consider", to_consider)
    _print_list(console, "How to read the output", pipeline.operator.how_to_read())
    console.print()


def _document(file: PipelineFile, mechanism: Mechanism) -> dict[str, object]:
    guarantees, operator = mechanism.guarantees(), file.pipeline.operator
    leakage = operator.temporal_leakage(mechanism)
    return {
        "pipeline": file.pipeline.name,
        "source": file.pipeline.source.topic,
        "sink": file.pipeline.sink.topic,
        "parameters": parameters_of(file, mechanism),
        **({"alphabet": operator.alphabet} if isinstance(operator, AlphabetOperator) else {}),
        "guarantee_id": guarantee_id(guarantees).decode(),
        "guarantees": [
            {
                **guarantee_data(guarantee),
                "total_delta": guarantee.total_delta,
                "composition": guarantee.composition,
                "protects": protected_in_words(guarantee),
                "in_words": in_words(guarantee),
            }
            for guarantee in guarantees
        ],
        "relied_on_by_the_pipeline": policies_relied_on(file.pipeline),
        "not_covered_by_the_pipeline": pipeline_not_covered(file.pipeline),
        "who_can_change_policies": who_can_change(file.pipeline),
        "temporal_leakage": None if leakage is None else asdict(leakage),
        "audit": mechanism.audit(),
        "promise": promise_of(file, mechanism).model_dump(mode="json"),
    }


def parameters_of(file: PipelineFile, mechanism: Mechanism) -> dict[str, object]:
    """Return the parameters of a pipeline by their names for people."""
    return {
        "mechanism": f"{mechanism.kind} (implementation {mechanism.implementation})",
        **file.pipeline.operator.parameters(),
        "law": mechanism.law_digest().hex()[:16],
        "key in the output": key_in_words(file.pipeline),
        "configuration version": file.pipeline.version,
        **_transactions(file.pipeline),
        **_state(file.pipeline),
    }


def _state(pipeline: Pipeline) -> dict[str, object]:
    """Say where the state is, where that is not a directory."""
    if not pipeline.state.in_kafka:
        return {}
    return {
        "state": f"topic {pipeline.state_topic}, which holds keys and values that are held back; "
        "releases, state and positions are committed together",
        "timestamp 0": "is written as 1, because librdkafka takes 0 for the time of writing",
    }


def _transactions(pipeline: Pipeline) -> dict[str, object]:
    """Say whether epochs are published in transactions, if the pipeline file asks for it."""
    kafka = pipeline.kafka
    if pipeline.state.in_kafka:
        return {"transactions": "yes: state.store is kafka"}
    if kafka.transactions is False:
        return {}
    because = kafka.without_transactions(pipeline.state.every)
    words = "yes" if kafka.transactions is True else "where Kafka takes them: validate --kafka says"
    return {"transactions": f"no: {because}" if because else words}


def key_in_words(pipeline: Pipeline) -> str:
    """Say which key a release carries."""
    key = pipeline.sink.key
    of_groups = pipeline.operator.stage is StageKind.AGGREGATE and key != "none"
    return "the group" if of_groups else key


def _print_promise(console: Terminal, parts: dict[str, str]) -> None:
    (_, promise), *rest = parts.items()
    console.print(f"- [bold]{promise}[/bold]")
    table = Table(show_header=False, box=None, padding=(0, 2))
    for title, words in rest:
        table.add_row(title, words)
    console.print(table)


def _print_list(console: Terminal, title: str, lines: Iterable[str]) -> None:
    console.print(f"\n[bold]{title}[/bold]")
    for line in lines:
        console.print(f"- {line}")


def _numbers(entries: Iterable[object]) -> Iterator[float]:
    """Yield all numbers of a list, or of lists of lists."""
    for entry in entries:
        if isinstance(entry, list):
            yield from _numbers(entry)
        elif isinstance(entry, int | float):
            yield float(entry)


def _shape(entries: list[object]) -> str:
    """Return how long a list is, or how many rows and columns a matrix has."""
    columns = {len(entry) if isinstance(entry, list) else 0 for entry in entries}
    [across] = columns if len(columns) == 1 else [0]
    return f"{len(entries)} x {across}" if across else str(len(entries))


def _is_text(entry: object) -> bool:
    return isinstance(entry, list) and any(isinstance(line, str) for line in entry)


def _readable(number: object) -> str:
    if isinstance(number, dict):
        return ", ".join(f"{name} {_readable(entry)}" for name, entry in number.items())
    if isinstance(number, float):
        return f"{number:.4g}"
    if isinstance(number, list):
        numbers = list(_numbers(number))
        if len(numbers) > LARGEST_SHOWN:
            return f"{_shape(number)} numbers from {min(numbers):.4g} to {max(numbers):.4g}"
        return "[" + ", ".join(_readable(entry) for entry in number) + "]"
    return "none" if number is None else str(number)
