"""`fugu explain`: what a pipeline promises, what it does not, and how to read its output."""

from dataclasses import asdict

import orjson
from rich.console import Console
from rich.table import Table

from dataflows.guarantee_text import guarantee_id, in_words, pipeline_not_covered
from dataflows.mechanisms import configure
from dataflows.pipeline_file import PipelineFile
from operators.mechanism import Mechanism


def explain(file: PipelineFile, as_json: bool) -> None:
    """Print the explanation; neither Kafka nor the secret is needed."""
    mechanism = configure(file).mechanism
    if as_json:
        print(orjson.dumps(_document(file, mechanism), option=orjson.OPT_INDENT_2).decode())
        return
    console = Console()
    pipeline = file.pipeline
    guarantees = mechanism.guarantees()
    console.print(
        f"\n[bold]{pipeline.name}[/bold]: {pipeline.source.topic} -> {pipeline.sink.topic}"
    )
    parameters = Table(show_header=False, box=None, padding=(0, 2))
    for name, value in _parameters(file, mechanism).items():
        parameters.add_row(name, str(value))
    console.print(parameters)
    console.print("\n[bold green]What is promised[/bold green]")
    for guarantee in guarantees:
        console.print(f"- {in_words(guarantee)}")
    _print_list(console, "Relies on", [guarantees[0].trust, *guarantees[0].assumptions])
    _print_list(
        console, "Does not protect", [*guarantees[0].not_covered, *pipeline_not_covered(pipeline)]
    )
    console.print("\n[bold]Exact numbers[/bold]")
    for name, number in mechanism.audit().items():
        console.print(f"- {name}: {_readable(number)}")
    console.print(
        "\n[bold]How to read the output[/bold]\n"
        "- confidence is the probability that the released symbol is the true one, given all "
        "releases of the stream; 1 minus its mean is the expected share of wrong releases.\n"
        "- released shares are biased towards likely symbols; average the posteriors instead "
        "(ConditionalRandomizedResponse.observe over the releases of each key, in order).\n"
    )


def _document(file: PipelineFile, mechanism: Mechanism) -> dict[str, object]:
    guarantees = mechanism.guarantees()
    return {
        "pipeline": file.pipeline.name,
        "source": file.pipeline.source.topic,
        "sink": file.pipeline.sink.topic,
        "parameters": _parameters(file, mechanism),
        "guarantee_id": guarantee_id(guarantees).decode(),
        "guarantees": [
            {**asdict(guarantee), "in_words": in_words(guarantee)} for guarantee in guarantees
        ],
        "not_covered_by_the_pipeline": pipeline_not_covered(file.pipeline),
        "audit": mechanism.audit(),
    }


def _parameters(file: PipelineFile, mechanism: Mechanism) -> dict[str, object]:
    operator = file.pipeline.operator
    return {
        "mechanism": f"{mechanism.kind} (implementation {mechanism.implementation})",
        "epsilon": f"{operator.epsilon:g} nats per release",
        "alphabet": ", ".join(str(symbol) for symbol in operator.alphabet),
        "unknown symbols": "dead letter" if operator.other is None else f"become {operator.other}",
        "model": operator.model,
        "law": mechanism.law_digest().hex()[:16],
        "key in the output": file.pipeline.sink.key,
        "configuration version": file.pipeline.version,
    }


def _print_list(console: Console, title: str, lines: list[str]) -> None:
    console.print(f"\n[bold]{title}[/bold]")
    for line in lines:
        console.print(f"- {line}")


def _readable(number: object) -> str:
    if isinstance(number, float):
        return f"{number:.4g}"
    if isinstance(number, list):
        return "[" + ", ".join(_readable(entry) for entry in number) + "]"
    return "none" if number is None else str(number)
