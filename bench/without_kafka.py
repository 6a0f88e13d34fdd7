"""The commands of `python -m bench` that need no Kafka: state, steps, operators, aggregates (also
under policies), and real-time release."""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench import row_state
from bench.aggregates import measure_aggregates
from bench.aggregates_report import aggregates_page
from bench.operator_costs import measure_operators
from bench.operator_costs_report import operators_page
from bench.operator_parts import measure_operator_parts
from bench.page import Page
from bench.policies import measure_policies
from bench.policies_report import policies_page
from bench.realtime import measure_realtime
from bench.realtime_report import realtime_page
from bench.row_state_report import state_page
from bench.sip_steps import measure_steps, sip_page
from bench.timelines import measure_timelines

Folder = Annotated[Path, typer.Option("--results", help="Where the two files go.")]
RESULTS = Path(__file__).parent / "results"
_STATE = (1_000_000, 3)

app = typer.Typer()


@app.command()
def sip(results: Folder = RESULTS) -> None:
    """One step of conditional randomized response, by alphabet, model and users.

    About half a minute.
    """
    load_before = os.getloadavg()[0]
    publish(sip_page(measure_steps(), ".venv/bin/python -m bench sip", load_before), results)


@app.command()
def operators(results: Folder = RESULTS) -> None:
    """What local operators cost per record, by users and spread of keys, and part by part.

    About five minutes.
    """
    load_before = os.getloadavg()[0]
    with Console().status("making records") as status:
        parts, costs = measure_operator_parts(status.update), measure_operators(status.update)
    command = ".venv/bin/python -m bench operators"
    publish(operators_page(costs, parts, command, load_before), results)


@app.command()
def aggregates(results: Folder = RESULTS) -> None:
    """Aggregation by number of groups, beside passing records through.

    About two minutes.
    """
    load_before = os.getloadavg()[0]
    with Console().status("making records") as status:
        costs = measure_aggregates(status.update)
    publish(aggregates_page(costs, ".venv/bin/python -m bench aggregates", load_before), results)


@app.command()
def policies(results: Folder = RESULTS) -> None:
    """Aggregation under policies by number of keys and collections, beside the same without.

    About three minutes.
    """
    load_before = os.getloadavg()[0]
    with Console().status("making records") as status:
        ticks, timelines = measure_policies(status.update), measure_timelines(status.update)
    command = ".venv/bin/python -m bench policies"
    publish(policies_page(ticks, timelines, command, load_before), results)


@app.command()
def realtime(results: Folder = RESULTS) -> None:
    """Real-time release by number of groups and of streams.

    About a minute.
    """
    load_before = os.getloadavg()[0]
    with Console().status("making series") as status:
        measured = measure_realtime(status.update)
    command = ".venv/bin/python -m bench realtime"
    publish(realtime_page(measured, command, load_before), results)


@app.command()
def state(
    rows: Annotated[int, typer.Option(min=100_000, help="Rows of ten floats.")] = _STATE[0],
    rounds: Annotated[
        int, typer.Option(min=1, help="Generations of a row log, of which the median.")
    ] = _STATE[1],
    results: Folder = RESULTS,
) -> None:
    """The state store beside the whole table pickled into SQLite: epochs and restarts.

    About two minutes.
    """
    command = f".venv/bin/python -m bench state --rows {rows} --rounds {rounds}"
    if (rows, rounds) == _STATE:
        command = ".venv/bin/python -m bench state"
    settings = row_state.Settings(command, rows, rounds, os.getloadavg()[0])
    with Console().status("making rows") as status:
        measured = row_state.measure_state(settings, status.update)
    publish(state_page(measured), results)


def publish(page: Page, folder: Path) -> None:
    """Write the two files, and show the page."""
    page.write(folder)
    page.show(Console(), folder)
