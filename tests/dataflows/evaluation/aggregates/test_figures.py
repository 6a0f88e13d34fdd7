"""What is evaluated is what the live pipeline does: the same figures, true and released."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from dataflows.admission import Admission
from dataflows.aggregates.bounding import Bounding
from dataflows.aggregates.flow import Merging
from dataflows.aggregates.log_entries import read_entry
from dataflows.aggregates.merging import Merge
from dataflows.batches import Batch, Reason
from dataflows.evaluation.aggregates.figures import Summed
from dataflows.evaluation.aggregates.grid import STRATEGIES
from dataflows.evaluation.run import secret_of
from dataflows.mechanisms import configure
from dataflows.pipeline_file import PipelineFile
from dataflows.state.row_table import RowTable
from operators.randomness import DrawScope, Secret
from tests.dataflows.evaluation.aggregates.samples import (
    FIRST_TICK,
    KILOWATTS,
    ZONES,
    Line,
    line,
    operator_of,
    sample_of,
    written,
)

SECRET = secret_of(seed=5, run=1)


def city(users: int, ticks: int) -> list[Line]:
    """Users who move, out of order by up to 400 ms; some are late, far ahead, or nowhere known."""
    random, timed = Random(2), []
    for tick in range(ticks):
        for user in range(users):
            for _ in range(random.choice([0, 1, 1, 1, 2])):
                at = 1_000 * tick + random.randrange(1_000)
                shift = random.choice([0] * 40 + [-4_000, 60_000])
                where = random.choice([*ZONES * 10, "nowhere"])
                amount = round(random.uniform(-1.0, 6.0), 1)
                record = line(f"u{user}", max(0, at + shift), where, amount)
                timed.append((at + random.randrange(400), record))
    return [record for _, record in sorted(timed, key=lambda one: one[0])]


def live(file: PipelineFile, path: Path, secret: Secret) -> Iterator[list[float]]:
    """What the steps of the two dataflows release, tick by tick, in batches of seven."""
    pipeline, operator, configured = file.pipeline, operator_of(file), configure(file)
    lines = path.read_bytes().splitlines()
    everybody = Admission("unchecked", 1, pipeline.state.max_keys)
    bounding = Bounding(operator.in_ticks(), operator.group_count, everybody)
    mechanism, table = configured.mechanism, RowTable(bounding.start)
    law = mechanism.law_digest()
    scope = DrawScope(secret, pipeline.name, operator.kind, pipeline.version, law)
    merge = Merge(mechanism, scope, pipeline.source.topic, 1, operator.group_count)
    merging = Merging(merge, "log", None)
    for start in range(0, len(lines), 7):
        values: list[bytes | None] = [*lines[start : start + 7]]
        offsets = list(range(start + 1, start + 1 + len(values)))
        keys: list[bytes | None] = [(one or b"").split(b'"')[3] for one in values]
        batch = Batch(0, offsets, [0] * len(values), keys, values, [[] for _ in values])
        bounded = bounding(configured.codec.decode(batch), table)
        logged = [read_entry(one.encoded(), "log") for one in bounded.partials]
        [released], _ = merging.on_batch([logged])
        for _, tick in released:
            yield tick.values[0].tolist()


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
    assert (summed.first_tick, summed.open_ticks) == (FIRST_TICK, 1)
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
    assert figures.noise == pytest.approx(np.full(5, np.sqrt(2.0)))
    assert (figures.values[1] == figures.values[0]).all()
