"""Show what a model says, and how accurate releases relative to it will be."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.arguments import EPSILON_OPTIONS, AsJson, numbers
from fugu.dataflows.commands.output import Terminal, print_json
from fugu.dataflows.files.model_file import ModelFile, read_model, read_model_file
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.long_run import Model, entropy_rate, simulate, stationary, strongest
from fugu.operators.sip.second_order_model import SecondOrderModel

_NATS_TO_BITS = 1.4426950408889634


def show(
    path: Annotated[Path, typer.Argument(metavar="MODEL", help="The model file.")],
    epsilon: Annotated[
        list[str] | None,
        typer.Option(*EPSILON_OPTIONS, metavar="0.5,1", help="Expect accuracy at these."),
    ] = None,
    rows: Annotated[int, typer.Option("--rows", "-n", min=1, help="Of each table.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Show what a model says, and how accurate releases will be under it."""
    epsilons = numbers("--epsilon", epsilon or ["0.5,1,2,4"])
    try:
        content = read_model_file(path)
        model = read_model(path, content.alphabet)
    except ConfigurationError as error:
        raise ConfigurationError(str(error).removeprefix("operator.model: ")) from None
    try:
        mechanisms = [ConditionalRandomizedResponse(model, epsilon) for epsilon in epsilons]
    except ValueError as error:
        raise ConfigurationError(f"--{error}") from None
    document = _document(path, content, model, rows)
    document["expected"] = [
        {
            "epsilon": mechanism.epsilon,
            "accuracy": run.accuracy,
            "nats_per_release": run.nats_per_release,
            "simulated_releases": run.releases,
        }
        for mechanism in mechanisms
        for run in [simulate(mechanism, *_effort(len(model.start)))]
    ]
    if as_json:
        print_json(document)
    else:
        _print(Terminal(), document)


def _effort(states: int) -> tuple[int, int]:
    """Return streams and steps of a simulation: about a second for each epsilon."""
    if states <= 100:
        return 300, 100
    return (50, 60) if states <= 1_000 else (8, 40)


def _document(path: Path, content: ModelFile, model: Model, rows: int) -> dict[str, Any]:
    law = stationary(model)
    shares = model.marginal(law[:, None])[:, 0]
    common = sorted(range(model.symbols), key=lambda number: -shares[number])[:rows]
    alphabet = content.alphabet
    pairs = model.pairs.tolist() if isinstance(model, SecondOrderModel) else []
    memories = [*([number] for number in range(model.symbols)), *pairs]
    return {
        "model": str(path),
        "description": content.description,
        "learned": None if content.learned is None else content.learned.model_dump(),
        "order": 2 if pairs else 1,
        "symbols": model.symbols,
        "pairs": len(pairs),
        "smoothing": content.smoothing,
        "entropy_rate_in_nats": entropy_rate(model, law),
        "always_the_most_frequent_is_right": float(shares.max()),
        "stationary": [{"symbol": alphabet[n], "share": float(shares[n])} for n in common],
        "strongest_transitions": [
            {
                "from": [alphabet[number] for number in memories[state]],
                "to": alphabet[symbol],
                "probability": probability,
                "share_of_records": share,
            }
            for state, symbol, probability, share in strongest(model, law, rows)
        ],
    }


def _print(console: Terminal, document: dict[str, Any]) -> None:
    found = {name: document[name] for name in ("description", "learned") if document[name]}
    console.print(f"\n[bold]{document['model']}[/bold]: {document['symbols']:,} symbols", end="")
    console.print(f", order {document['order']}, {document['pairs']:,} pairs of symbols")
    for name, said in found.items():
        console.print(f"{name}: {said}")
    entropy = document["entropy_rate_in_nats"]
    console.print(
        f"Every record brings {entropy:.3g} nats ({entropy * _NATS_TO_BITS:.3g} bits) that the "
        "records before it do not tell.\n"
    )
    stationary_law = Table("symbol", "share of records", title="Long-run shares")
    for row in document["stationary"]:
        stationary_law.add_row(str(row["symbol"]), f"{row['share']:.2%}")
    moves = Table("after", "comes", "probability", "share of records", title="Frequent transitions")
    for row in document["strongest_transitions"]:
        shares = f"{row['probability']:.2%}", f"{row['share_of_records']:.2%}"
        moves.add_row(" ".join(map(str, row["from"])), str(row["to"]), *shares)
    expected = Table("epsilon", "right releases", "nats spent per release", title="kind: crr")
    for row in document["expected"]:
        spent = f"{row['nats_per_release']:.3g}"
        expected.add_row(f"{row['epsilon']:g}", f"{row['accuracy']:.2%}", spent)
    for table in (stationary_law, moves, expected):
        table.title_justify = "left"
        console.print(table)
    console.print(
        f"Without data, {document['always_the_most_frequent_is_right']:.2%} are right. "
        "Accuracy is simulated with a fixed seed, under the model: streams that are unlike it fare "
        "worse."
    )
