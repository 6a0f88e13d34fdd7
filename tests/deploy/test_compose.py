"""The containers of `compose.yaml` have the topics that its pipeline asks for."""

import re
from pathlib import Path

import yaml

from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.publishing.promises_topic import promises_topic
from tests.deploy.chart import ROOT

DEPLOY = ROOT / "deploy"


def test_every_topic_of_the_pipeline_is_created() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    [script] = services["topics"]["command"]
    created = dict(re.findall(r"^create (\S+) \d+ (\w+)", script, re.MULTILINE))
    [mounted] = [v for v in services["fugu"]["volumes"] if v.endswith("pipeline.yaml:ro")]
    file = PipelineFile.read(DEPLOY / Path(mounted.partition(":")[0]))
    sink = file.pipeline.sink
    assert not sink.create, "or nothing has to be there"
    assert created == {
        file.pipeline.source.topic: "delete",
        sink.topic: "delete",
        f"{sink.topic}.dead": "delete",
        promises_topic(sink.topic): "compact",
        f"{file.pipeline.name}.control": "compact",
    }
