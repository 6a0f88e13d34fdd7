"""Figures of the papers: each has a picture and a sentence that follows from its curves."""

from pathlib import Path

import pytest

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
