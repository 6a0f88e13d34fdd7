"""The day of a few people, from the raw topic to the tables, on the embedded broker."""

from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from examples.heart_rate.example import PIPELINE, displaced
from examples.heart_rate.picture import save
from examples.heart_rate.report import errors_table, zones_table
from examples.heart_rate.watches import Watches
from fugu.dataflows.offline.demo.embedded_broker import EmbeddedBroker
from fugu.dataflows.offline.demo.whole_path import pipeline_on, shown_progress

PEOPLE, WINDOW = 2, 10


@pytest.mark.slow
def test_the_analyst_recovers_averages_of_values_that_moved_in_time_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        EmbeddedBroker() as bootstrap,
        shown_progress(Console(quiet=True)) as progress,
    ):
        file = pipeline_on(bootstrap, tmp_path, "pipeline.yaml", PIPELINE.read_text())
        recovered = displaced(file, Watches(PEOPLE), progress)
    for truth, published in zip(recovered.truth, recovered.published, strict=True):
        for minute in np.flatnonzero(~np.isnan(published)).tolist():
            assert published[minute] in truth[max(0, minute - WINDOW + 1) : minute + 1]
        assert np.isnan(published).sum() <= np.isnan(truth).sum() + 2 * WINDOW
    earlier = recovered.published[:, recovered.lag :]
    assert np.array_equal(recovered.moved_back[:, : -recovered.lag], earlier, equal_nan=True)
    errors = recovered.errors()["average of 10 minutes"]
    assert errors.moved_back < 0.75 * errors.published < 0.1 * errors.noisy
    Console(width=100).print(zones_table(recovered), errors_table(recovered))
    assert "vigorous" in capsys.readouterr().out
    save(recovered, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000
