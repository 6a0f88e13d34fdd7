"""`python -m bench.figures`: compute figures of the papers anew, and say what holds of them."""

import argparse
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from time import monotonic

from rich.console import Console

from bench.figures.figure import Figure
from bench.figures.realtime_decay import realtime_decay
from bench.figures.realtime_delay import realtime_delay
from bench.figures.realtime_drive import realtime_drive
from bench.figures.realtime_error import realtime_error
from bench.figures.realtime_paths import realtime_paths
from bench.figures.realtime_trends import realtime_trends
from bench.figures.realtime_weights import realtime_weights
from bench.figures.running_totals import running_totals
from bench.figures.shaped_noise import shaped_noise
from bench.figures.sip_clicks import sip_clicks
from bench.figures.sip_error import sip_error
from bench.figures.sip_fine_gaze import sip_fine_gaze
from bench.figures.sip_gaze import sip_gaze
from bench.figures.sip_identities import sip_identities
from bench.figures.sip_noise import sip_noise
from bench.figures.sip_runtime import sip_runtime
from bench.figures.temporal_clusters import temporal_clusters
from bench.figures.temporal_costs import temporal_costs
from bench.figures.temporal_prices import temporal_prices
from bench.figures.temporal_utility import temporal_utility
from bench.figures.thesis_central import thesis_central
from bench.figures.thesis_combined import thesis_combined
from bench.figures.thesis_leakage import thesis_leakage
from bench.figures.thesis_local import thesis_local
from bench.figures.why_caps import why_caps
from bench.figures.why_totals import why_totals

FIGURES: tuple[Callable[[], Figure], ...] = (
    why_caps,
    why_totals,
    sip_noise,
    sip_error,
    sip_clicks,
    sip_gaze,
    sip_fine_gaze,
    sip_identities,
    sip_runtime,
    temporal_prices,
    temporal_costs,
    temporal_utility,
    temporal_clusters,
    realtime_error,
    realtime_delay,
    realtime_paths,
    realtime_weights,
    realtime_decay,
    realtime_trends,
    realtime_drive,
    thesis_leakage,
    thesis_central,
    thesis_local,
    thesis_combined,
    running_totals,
    shaped_noise,
)
_AT_ONCE = 2
_TITLE = """\
# Figures of the papers, computed anew

A verdict is about the data that stands beside it, which is generated where data sets cannot be
had. There, *refuted* says that what the paper says is not so, and *differs* that it is so in part.
"""
_SECTION = re.compile(r"^## .*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(r"\((.*)\.png\)")


def main() -> None:
    """Write pictures and a page beside them into a folder."""
    names = [compute.__name__ for compute in FIGURES]
    parser = argparse.ArgumentParser(prog="python -m bench.figures", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--folder", type=Path, default=Path("bench/results/figures"))
    given = parser.parse_args()
    folder: Path = given.folder
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [one for one in FIGURES if not given.names or one.__name__ in given.names]
    console, page = Console(), folder / "README.md"
    with ProcessPoolExecutor(_AT_ONCE) as workers:
        running = {workers.submit(_written, one, folder): one.__name__ for one in wanted}
        for done in as_completed(running):
            section, sentence = done.result()
            put_in(page, names, running[done], section)
            console.print(f"[bold]{running[done]}[/bold] {sentence}\n")
    console.print(f"Pictures and sentences: {page}")


def _written(compute: Callable[[], Figure], folder: Path) -> tuple[str, str]:
    """Draw a figure; return its section of the page, and what to print."""
    began = monotonic()
    figure = compute()
    figure.draw(folder / f"{compute.__name__}.png")
    section = (
        f"## {figure.name}: {figure.verdict}\n\n*{figure.source}.* {figure.sentence}\n\n"
        f"![{figure.name}]({compute.__name__}.png)\n"
    )
    return section, f"({monotonic() - began:.0f} s): {figure.verdict}. {figure.sentence}"


def put_in(page: Path, names: Sequence[str], name: str, section: str) -> None:
    """Write one section at its place, so that a run which is stopped keeps what it has done."""
    sections = sections_of(page) | {name: section}
    found = [sections[one] for one in names if one in sections]
    page.write_text("\n".join([_TITLE, *found]))


def sections_of(page: Path) -> dict[str, str]:
    """Return sections by the name of their picture, from a page if there is one."""
    written = _SECTION.findall(page.read_text()) if page.exists() else []
    return {_PICTURE.search(one)[1]: f"{one.rstrip()}\n" for one in written}  # type: ignore[index]


if __name__ == "__main__":
    main()
