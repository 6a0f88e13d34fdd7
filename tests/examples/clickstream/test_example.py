"""A small site, from the raw topic to the table, on the embedded broker."""

from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from examples.clickstream.example import prepared, sanitized_shares
from examples.clickstream.picture import save
from examples.clickstream.report import table
from examples.clickstream.site import Site
from fugu.dataflows.offline.demo.embedded_broker import EmbeddedBroker
from fugu.dataflows.offline.demo.whole_path import shown_progress

SITE = Site(pages=60)


@pytest.mark.slow
def test_the_analyst_finds_the_most_frequent_pages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clicks = SITE.clicks(visitors=80, seed=2)
    with EmbeddedBroker() as bootstrap:
        file = prepared(tmp_path, bootstrap, SITE, public_visitors=500)
        with shown_progress(Console(quiet=True)) as progress:
            shares = sanitized_shares(file, SITE, clicks, progress)
            assert [task.completed for task in progress.tasks] == [len(clicks)] * 3
    assert shares.truth.sum() == pytest.approx(1.0)
    assert shares.released.sum() == pytest.approx(1.0)
    assert shares.estimate.shares.sum() == pytest.approx(1.0)
    off = np.abs(shares.estimate.shares - shares.truth) / shares.estimate.standard_errors
    assert off[shares.frequent[:5]].max() < 5.0
    Console(width=100).print(table(shares))
    assert "page-0001" in capsys.readouterr().out
    held = int(shares.held[shares.frequent].sum())
    assert shares.verdict().startswith(f"{held} of {len(shares.frequent)} pages")
    save(shares, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000
