"""A running pipeline shows whose noise the newest figure has."""

from pathlib import Path

import pytest
import yaml
from rich.console import Console

from examples.household.example import pipelines_on
from examples.household.meters import Meters
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.offline.demo.embedded_broker import EmbeddedBroker
from fugu.dataflows.offline.demo.whole_path import Running, produce, shown_progress
from fugu.dataflows.pipeline.config import PipelineFile
from tests.kafka.pages import Pages
from tests.kafka.ports import free_ports

TICKS = 3
METERS = Meters(30)


@pytest.mark.slow
def test_scrapers_see_the_noise_of_the_newest_figure_by_collection(tmp_path: Path) -> None:
    pages = Pages(port := free_ports(1))
    with EmbeddedBroker() as bootstrap, shown_progress(Console(quiet=True)) as progress:
        path = pipelines_on(bootstrap, tmp_path)["unicorn"].path
        path.write_text(path.read_text() + yaml.safe_dump({"metrics": {"port": port}}))
        file = PipelineFile.read(path)
        client, source = client_of(file.connection()), file.pipeline.source
        assert source.policies is not None
        client.topic(source.policies.topic)
        records = METERS.households * (TICKS + 1)
        produce(client, source.topic, METERS.raw(0, TICKS), records, progress)
        with Running(client, file, TICKS, progress) as pipeline:
            pipeline.wait_for(TICKS)
            noise = pages.sums("fugu_collection_noise", "collection")
            assert noise == pytest.approx({"household": 0, "electric-car": 132})
            affected = pages.sums("fugu_collection_affected_ticks", "collection")
            assert affected == {"household": 0, "electric-car": 24}
            assert pages.sums("fugu_policy_noise") == pytest.approx({"power.unicorn": 132})
            pipeline.stop()
