"""Evaluate what the live pipeline does: the same figures, true and released."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.offline.evaluation.aggregates.figures import Summed
from fugu.dataflows.offline.evaluation.aggregates.strategies import STRATEGIES
from fugu.dataflows.pipeline.mechanisms import configure
from tests.dataflows.offline.evaluation.aggregates.live import SECRET, city, live
from tests.dataflows.offline.evaluation.aggregates.samples import (
    FIRST_TICK,
    KILOWATTS,
    line,
    operator_of,
    sample_of,
    written,
)


@pytest.mark.parametrize("kind", STRATEGIES)
@pytest.mark.parametrize("section", [{}, {"sum": KILOWATTS, "other": "west"}], ids=["count", "sum"])
def test_releases_are_those_of_the_live_pipeline(
    section: dict[str, Any], kind: str, tmp_path: Path
) -> None:
    file = written(tmp_path, kind=kind, epsilon=5.0, **section)
    sample = sample_of(tmp_path, file, city(users=12, ticks=25))
    summed = Summed.of(file.pipeline, operator_of(file), sample)
    figures = summed.released(configure(file).mechanism, SECRET)
    found = list(live(file, sample.path, SECRET))
    assert figures.values.tolist() == found
    assert len(found) == summed.ticks >= 20
    assert set(summed.dead.reasons) == {Reason.LATE, Reason.TOO_FAR_AHEAD}
    unknown = Reason.OUTSIDE_DOMAIN in sample.decoded.dead.reasons
    assert unknown == ("other" not in section)


def test_true_figures_can_be_counted_by_hand(tmp_path: Path) -> None:
    """Three users are all that there may be; tick 2 is empty, and tick 3 still open."""
    file = written(tmp_path, state={"max_keys": 3})
    lines = [
        line("a", 500),
        line("b", 600, "south"),
        line("c", 700, "south"),
        line("d", 700),
        line("a", 900, "west"),
        line("b", 1_100),
        line("a", 1_400),
        line("b", 3_400),
        line("c", 200),
        line("b", 3_600),
    ]
    sample = sample_of(tmp_path, file, lines)
    summed = Summed.of(file.pipeline, operator_of(file), sample)
    assert summed.truth().tolist() == [[0, 2, 1], [2, 0, 0], [0, 0, 0]]
    assert (summed.numbers[0], summed.open_ticks) == (FIRST_TICK, 1)
    assert list(zip(summed.dead.offsets, summed.dead.reasons, strict=True)) == [
        (4, Reason.TOO_MANY_KEYS),
        (9, Reason.LATE),
    ]


def test_publications_and_their_noise_are_those_of_the_strategy(tmp_path: Path) -> None:
    file = written(tmp_path, kind="sample", epsilon=2.0, window=2)
    lines = [line("a", 1_000 * second + 500) for second in range(6)]
    summed = Summed.of(file.pipeline, operator_of(file), sample_of(tmp_path, file, lines))
    done: list[int] = []
    figures = summed.released(configure(file).mechanism, SECRET, done.append)
    assert figures.published.tolist() == [True, False, True, False, True]
    assert sum(done) == summed.ticks == 5
    assert figures.noise == pytest.approx(np.full((5, 3), np.sqrt(2.0)))
    assert (figures.values[1] == figures.values[0]).all()
