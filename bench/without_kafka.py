"""The commands of `python -m bench` that need no Kafka: state, steps, operators, reports of single
streams, aggregates (also under policies), real-time release, and anonymised windows."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench import row_state
from bench.aggregates import aggregates_page, measure_aggregates
from bench.anonymity import anonymity_page, measure_anonymity
from bench.collectors import collectors_page, measure_collectors
from bench.operator_costs import measure_operators, operators_page
from bench.operator_parts import measure_operator_parts
from bench.page import Page
from bench.policies import measure_policies, policies_page
from bench.realtime import measure_realtime, realtime_page
from bench.reports import measure_reports, reports_page
from bench.row_state import state_page
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
    sip_page(measure_steps(), ".venv/bin/python -m bench sip", load_before).publish(results)


@app.command()
def operators(results: Folder = RESULTS) -> None:
    """Measure what local operators cost per record, by users and spread of keys, and by part.

    About five minutes.
    """
    _publish("operators", operators_page, results, measure_operators, measure_operator_parts)


@app.command()
def reports(results: Folder = RESULTS) -> None:
    """Reports under a budget of windows beside `crr`, in interleaved rounds.

    About a minute.
    """
    _publish("reports", reports_page, results, measure_reports)


@app.command()
def aggregates(results: Folder = RESULTS) -> None:
    """Aggregation by number of groups, beside passing records through.

    About two minutes.
    """
    _publish("aggregates", aggregates_page, results, measure_aggregates)


@app.command()
def collectors(results: Folder = RESULTS) -> None:
    """Collectors of private reports by number of groups, beside sample; and users' reports.

    About half a minute.
    """
    _publish("collectors", collectors_page, results, measure_collectors)


@app.command()
def policies(results: Folder = RESULTS) -> None:
    """Aggregation under policies by number of keys and collections, beside the same without.

    About three minutes.
    """
    _publish("policies", policies_page, results, measure_policies, measure_timelines)


@app.command()
def realtime(results: Folder = RESULTS) -> None:
    """Real-time release by number of groups and of streams.

    About a minute.
    """
    _publish("realtime", realtime_page, results, measure_realtime)


@app.command()
def anonymity(results: Folder = RESULTS) -> None:
    """Anonymisation of a window by people, points, and points that an attacker knows.

    About two minutes, and 4 GB of memory.
    """
    _publish("anonymity", anonymity_page, results, measure_anonymity)


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
    state_page(measured).publish(results)


def _publish(
    name: str,
    page: Callable[..., Page],
    results: Path,
    *measures: Callable[[Callable[[str], None]], object],
) -> None:
    """Measure one thing after another, and publish the page about them."""
    load_before = os.getloadavg()[0]
    with Console().status("making records") as status:
        measured = [measure(status.update) for measure in measures]
    page(*measured, f".venv/bin/python -m bench {name}", load_before).publish(results)
