"""`python -m bench.figures`: compute figures of the papers anew, and say what holds of them."""

import argparse
from pathlib import Path

from rich.console import Console

from bench.figures.realtime_error import realtime_error
from bench.figures.realtime_weights import realtime_weights
from bench.figures.running_totals import running_totals
from bench.figures.shaped_noise import shaped_noise
from bench.figures.sip_error import sip_error
from bench.figures.temporal_costs import temporal_costs

FIGURES = (
    sip_error,
    temporal_costs,
    realtime_error,
    realtime_weights,
    running_totals,
    shaped_noise,
)


def main() -> None:
    """Write pictures and a page beside them into a folder."""
    parser = argparse.ArgumentParser(prog="python -m bench.figures", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("build/figures"))
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    console, lines = Console(), ["# Figures of the papers, computed anew", ""]
    for compute in FIGURES:
        figure = compute()
        picture = figure.draw(folder)
        console.print(f"[bold]{figure.name}[/bold]: {figure.verdict}. {figure.sentence}\n")
        lines += [
            f"## {figure.name}: {figure.verdict}",
            "",
            f"*{figure.source}.* {figure.sentence}",
            "",
            f"![{figure.name}]({picture.name})",
            "",
        ]
    page = folder / "README.md"
    page.write_text("\n".join(lines))
    console.print(f"Pictures and sentences: {page}")


if __name__ == "__main__":
    main()
