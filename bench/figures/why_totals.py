"""Issue 28, "Why": errors of running totals beside a tree, by `fugu run`."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import yaml

from bench.figures.figure import Figure, Pipelines, running, runs_panel, told
from bench.figures.running_totals import tree_error
from fugu.dataflows.offline.demo.embedded_broker import PARTITIONS
from fugu.dataflows.offline.demo.raw_records import RawRecord, partition_of
from fugu.operators.totals.running_total import RunningTotal

_SERIES = (1_000, 10_000)
"""Ticks of series that are totalled."""
_SECRETS = 20
_EACH, _CLOSING = 8, 20
"""Users in each partition, and ticks that close the last one."""
_BEGIN = 1_748_822_400_000
_TOTALS = """
name: clicks
source:
  topic: clicks.raw
  value: page
operator:
  epsilon: 1.0
  groups: [all]
  ticks: {width: 1s, grace: 0s}
sink:
  topic: clicks.totals
state:
  directory: ./state
  max_keys: 1000
"""
_LAWS: dict[str, dict[str, Any]] = {
    "running_total": {"kind": "running_total", "delta": 1e-6, "window": 1},
    "running_total, 24 in a row": {"kind": "running_total", "delta": 1e-6, "window": 24},
    "binary_tree, delta 0": {"kind": "binary_tree", "window": 1},
}


def why_totals() -> Figure:
    """Run three laws with 20 secrets over 1,000 and over 10,000 ticks."""
    with running() as pipelines:
        totals = {ticks: _errors(pipelines, ticks, _SECRETS) for ticks in _SERIES}
    short, long = totals
    return Figure(
        "why-totals",
        'issue 28, "Why" (generated clicks; every run is one of `fugu run`)',
        [
            runs_panel(f"totals of {ticks:,} ticks, epsilon 1", "root mean square error", found)
            for ticks, found in totals.items()
        ],
        "beyond the papers",
        f"{_told(long, totals[long])} (issue: 3.80 and 13.5, 67 and 271; at epsilon 1 17.2 "
        f"and 50.3). {_told(short, totals[short])}. Means of {_SECRETS} secrets +- "
        "standard errors.",
    )


def _errors(pipelines: Pipelines, ticks: int, seeds: int) -> dict[str, list[float]]:
    """Return root mean square errors of all totals by law and seed."""
    document = yaml.safe_load(_TOTALS)
    document["source"] = {**document["source"], "topic": f"clicks-{ticks}"}
    declared = {**document["operator"], **_LAWS["running_total"], "horizon": ticks}
    counted = {**document, "operator": declared}
    pipelines.produce(counted, _clicks(ticks), PARTITIONS * (ticks + _CLOSING))
    truth, errors = PARTITIONS * np.arange(1.0, ticks + 1), {}
    for number, (name, law) in enumerate(_LAWS.items()):
        operator = {**document["operator"], **law, "horizon": ticks}
        runs = (
            pipelines.released({**document, "operator": operator}, f"{ticks}-{number}", seed, ticks)
            for seed in range(seeds)
        )
        errors[name] = [float(np.sqrt(np.mean((run[:ticks, 0] - truth) ** 2))) for run in runs]
    return errors


def _clicks(ticks: int) -> Iterator[RawRecord]:
    """Yield a record of one user in each partition and second, of eight in turn."""
    users: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
    number = 0
    while min(map(len, users)) < _EACH:
        user = b"user-%d" % number
        users[partition_of(user)].append(user)
        number += 1
    for second in range(ticks + _CLOSING):
        for those in users:
            yield those[second % _EACH], b'{"page":"all"}', _BEGIN + 1_000 * second


def _told(ticks: int, errors: dict[str, list[float]]) -> str:
    errs = []
    for name, window in (("running_total", 1), ("running_total, 24 in a row", 24)):
        unit = RunningTotal(1, 1, 1, 1.0, 1e-6, ticks, window).precision.noise_of_a_change
        found = told([error / unit for error in errors[name]])
        protected = f", {window} in a row protected together" if window > 1 else ""
        errs.append(
            f"{found} times the noise of a tick, where a tree of Gaussian sums has by its law "
            f"{tree_error(ticks, window):.3g}{protected}"
        )
    clicks = (told(errors[name]) for name in ("running_total", "binary_tree, delta 0"))
    return (
        f"Totals of {ticks:,} ticks err {'; '.join(errs)}; that is {next(clicks)} clicks at "
        f"epsilon 1 and delta 1e-6, instead of {next(clicks)} by binary_tree with delta 0"
    )
