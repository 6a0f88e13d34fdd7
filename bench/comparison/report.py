"""The comparison as bars: fastest on top, with the range of all rounds."""

from dataclasses import asdict
from math import floor, log10
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.comparison.contestants import FUGU, Contestant, Fugu
from bench.comparison.rounds import Result, Results
from bench.grid import Grid, figures
from bench.page import Page

_FUGU, _BARE, _PEER = "#2a6f97", "#bbbbbb", "#e09f3e"


def draw(results: Results, path: Path) -> None:
    """Records/s on a logarithmic scale, without Fugu's other operators."""
    shown = [
        one
        for one in results.results
        if one.speeds
        and (not isinstance(one.contestant, Fugu) or one.contestant.operator["kind"] == "crr")
    ]
    shown.sort(key=lambda one: one.middle("records_per_second"))
    figure = Figure(figsize=(9.6, 1.4 + 0.32 * len(shown)), dpi=150, layout="constrained")
    axes = figure.subplots()
    for place, one in enumerate(shown):
        _bar(axes, place, one)
    axes.set_xscale("log")
    axes.set_yticks(range(len(shown)), [one.contestant.title for one in shown])
    axes.set_ylim(-0.6, len(shown) - 0.4)
    axes.set_xlabel("records/s, one process (logarithmic; line: range of all rounds)")
    slowest = shown[0].middle("records_per_second")
    fastest = max(one.ends("records_per_second")[1] for one in shown)
    axes.set_xlim(10 ** floor(log10(slowest)) / 2, fastest * 2)
    axes.xaxis.set_major_formatter(lambda rate, _: f"{rate:,.0f}")
    axes.grid(axis="x", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    settings = results.settings
    axes.set_title(
        f"The same private release of {settings.users:,} users' records; grey: no release at all",
        loc="left",
        fontsize=11,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def _bar(axes: Axes, place: int, one: Result) -> None:
    middle = one.middle("records_per_second")
    slowest, fastest = one.ends("records_per_second")
    axes.barh(place, middle, color=_color(one.contestant), height=0.7)
    axes.plot([slowest, fastest], [place, place], color="black", linewidth=1.2)
    axes.text(fastest * 1.04, place, f"{middle:,.0f}", va="center", fontsize=9)


def _color(contestant: Contestant) -> str:
    if isinstance(contestant, Fugu):
        return _FUGU
    return _PEER if contestant.checked else _BARE


# The comparison as tables, a document for machines, and a picture.


_NOTES = (
    "Records/s, CPU and memory: from one output to a later one, after a warm-up; medians "
    "and ranges. CPU and memory are those of the whole process tree (a JVM and workers "
    "too); memory is the sum of each process's peak.",
    "Latency: from the broker's append of a record to its append of the release, while a producer "
    "sends half of what the contestant's median is; records of the first three seconds do not "
    "count. Broker and producer run on the same processors.",
    "Every contestant that does the job was checked in its first round: users in order, every "
    "confidence the posterior of the released symbol, releases drawn from the law (|z| < 5).",
)


def peers_page(results: Results) -> Page:
    """Return what a person wants to know, fastest first."""
    settings = results.settings
    ordered = sorted(
        results.results,
        key=lambda one: -one.middle("records_per_second") if one.speeds else 0.0,
    )
    job = [one for one in ordered if not _other_operator(one)]
    operators = [one for one in ordered if _other_operator(one)]
    fugu = next((one for one in ordered if one.contestant is FUGU and one.speeds), None)
    title = (
        f"conditional randomized response, {settings.users:,} users, {settings.partitions} "
        f"partitions, real Kafka; {settings.rounds} interleaved rounds of {settings.seconds:g} s"
    )
    grids = [_speeds(title, job, fugu)]
    if operators:
        grids.append(_speeds("Fugu's other local operators", operators, fugu))
    grids += [_conditions(job + operators), _caveats(job + operators)]
    document: dict[str, object] = {
        "settings": asdict(settings),
        "contestants": {one.contestant.name: _document(one, fugu) for one in ordered},
    }
    return Page(
        "peers",
        "Fugu beside its peers",
        settings.command,
        settings.load_before,
        document,
        grids,
        _NOTES,
    )


def _speeds(title: str, results: list[Result], fugu: Result | None) -> Grid:
    return Grid(
        title,
        [
            "",
            "records/s",
            "range",
            "Fugu / this",
            "CPU s per million",
            "range",
            "Fugu / this, per CPU s",
            "peak MiB",
            "p50 ms",
            "p99 ms",
        ],
        [_row(one, fugu) for one in results],
    )


def _row(one: Result, fugu: Result | None) -> list[str]:
    title = one.contestant.title
    if not one.speeds:
        return [title, "—", *[""] * 8]
    slowest, fastest = one.ends("records_per_second")
    least, most = one.ends("cpu_seconds_per_million")
    waits = [f"{one.latency.p50:,.0f}", f"{one.latency.p99:,.0f}"] if one.latency else ["", ""]
    return [
        f"{title} (failed later)" if one.failed else title,
        *figures(0, one.middle("records_per_second")),
        f"{slowest:,.0f} to {fastest:,.0f}",
        _shown(_ratio(one, fugu)),
        *figures(1, one.middle("cpu_seconds_per_million")),
        f"{least:,.1f} to {most:,.1f}",
        _shown(_ratio_per_cpu_second(one, fugu)),
        *figures(0, one.middle("peak_mebibytes")),
        *waits,
    ]


def _ratio(one: Result, fugu: Result | None) -> float | None:
    if fugu is None or not one.speeds:
        return None
    return fugu.middle("records_per_second") / one.middle("records_per_second")


def _ratio_per_cpu_second(one: Result, fugu: Result | None) -> float | None:
    """Return the records that Fugu makes in the CPU time of one record of this contestant."""
    if fugu is None or not one.speeds:
        return None
    return one.middle("cpu_seconds_per_million") / fugu.middle("cpu_seconds_per_million")


def _shown(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"


def _conditions(results: list[Result]) -> Grid:
    rows = []
    for one in results:
        speed = f"{one.middle('records'):,.0f}" if one.speeds else "—"
        check = one.checked
        said = f"{check.compared:,}, |z| {check.largest_z:.1f}" if check else ""
        versions = ", ".join(f"{name} {number}" for name, number in one.versions.items())
        rows.append([one.contestant.title, speed, said, versions])
    return Grid(
        "What was measured",
        ["", "records in a round", "compared with the law", "versions"],
        rows,
    )


def _caveats(results: list[Result]) -> Grid:
    rows = [
        [one.contestant.title, one.failed or one.contestant.caveat]
        for one in results
        if one.failed or one.contestant.caveat
    ]
    return Grid("What a row does not do, and where it is better", ["", "beside Fugu"], rows)


def _document(one: Result, fugu: Result | None) -> dict[str, object]:
    medians = {
        figure: one.middle(figure)
        for figure in ("records_per_second", "cpu_seconds_per_million", "peak_mebibytes")
        if one.speeds
    }
    return {
        "title": one.contestant.title,
        "medians": medians,
        "fugu_ratio": _ratio(one, fugu),
        "fugu_ratio_per_cpu_second": _ratio_per_cpu_second(one, fugu),
        "rounds": [asdict(speed) for speed in one.speeds],
        "latency_milliseconds": one.latency and asdict(one.latency),
        "checked": one.checked and asdict(one.checked),
        "versions": one.versions,
        "caveat": one.contestant.caveat,
        "failed": one.failed or None,
    }


def _other_operator(one: Result) -> bool:
    return isinstance(one.contestant, Fugu) and one.contestant.operator["kind"] != "crr"
