"""Figures of the papers: each has a picture and a sentence that follows from its curves."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from bench.figures.__main__ import put_in, sections_of
from bench.figures.figure import Difference, sides_told, spread
from bench.figures.realtime_weights import realtime_weights
from bench.figures.temporal_costs import temporal_costs


def test_the_printed_theorem_on_weights_is_too_small(tmp_path: Path) -> None:
    figure = realtime_weights()
    for panel in figure.panels:
        exact, printed = panel.curves["exact"], panel.curves["Theorem 6.1 as printed"]
        assert all(one[1] <= 1.001 * other[1] for one, other in zip(printed, exact, strict=True))
    assert figure.verdict == "differs"
    figure.draw(tmp_path / "weights.png")
    assert (tmp_path / "weights.png").stat().st_size > 10_000


def test_threshold_mechanisms_are_cheapest_in_between() -> None:
    """Section 9 of the specification: from 1.85 to 10.20 for k = 10, in steps of a half."""
    figure = temporal_costs()
    assert "2 to 10 (k = 10)" in figure.sentence
    assert dict(figure.panels[0].curves["backward"])[5.0] == pytest.approx(6.200, abs=1e-3)


def test_names_beside_curves_cover_neither_each_other_nor_the_title() -> None:
    places = spread([0.99, 0.98, 0.97, 0.2])
    assert places[3] == 0.2
    in_order = [places[number] for number in (2, 1, 0)]
    assert all(after - before > 0.06 for before, after in pairwise(in_order))
    assert max(in_order) <= 1.0


def test_figures_that_are_computed_alone_leave_the_others_on_the_page(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    assert sections_of(page) == {}
    sections = {
        name: f"## {name}: differs\n\n*A paper.* A sentence.\n\n![{name}]({name}.png)\n"
        for name in ("one", "two")
    }
    put_in(page, ["one", "two"], "two", sections["two"])
    put_in(page, ["one", "two"], "one", sections["one"])
    assert list(sections_of(page).items()) == list(sections.items())


def test_every_picture_has_its_section_and_every_section_its_picture() -> None:
    folder = Path(__file__).parents[2] / "bench" / "results" / "figures"
    assert set(sections_of(folder / "README.md")) == {one.stem for one in folder.glob("*.png")}


def test_a_difference_within_two_standard_errors_is_told_as_none() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(0.0, 1.0, 100)
    found = {
        0.5: Difference.of(noise, noise + 1.0 + rng.normal(0.0, 1.0, 100)),
        1.0: Difference.of(noise, rng.normal(0.0, 1.0, 100)),
        2.0: Difference.of(noise + 2.0, noise + rng.normal(0.0, 1.0, 100)),
    }
    assert [one.side for one in found.values()] == [-1, 0, 1]
    told = "crr errs less than grr at 0.5 and more than it at 2, and draws do not tell at 1"
    assert sides_told(found, "crr", "grr") == told
    assert sides_told({1.0: found[1.0]}, "crr", "grr") == "draws do not tell crr from grr at 1"
