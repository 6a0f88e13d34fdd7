"""The containers of `compose.yaml` have the topics that its pipeline asks for."""

import re
from pathlib import Path

import yaml

from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.publishing.promise import promises_topic
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


def test_compiled_code_is_kept_out_of_every_volume() -> None:
    """It is run as it is read, and somebody may restore a volume from elsewhere."""
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    [folders] = re.findall(r"^ENV FUGU_CACHE_DIR=(\S+)$", dockerfile, re.MULTILINE)
    volumes = re.findall(r"^VOLUME (\S+)$", dockerfile, re.MULTILINE)
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    volumes += [mounted.split(":")[1] for mounted in services["fugu"]["volumes"]]
    assert "/var/lib/fugu" in volumes
    for folder in map(Path, folders.split(":")):
        assert not [volume for volume in volumes if folder.is_relative_to(volume)]


def test_whoever_builds_names_the_base_and_the_page_does_so_by_digest() -> None:
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    assert re.findall(r"^ARG BASE.*$", dockerfile, re.MULTILINE) == ["ARG BASE", "ARG BASE"]
    assert set(re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)) == {"${BASE}"}
    pages = [*(ROOT / "docs").rglob("*.md"), DEPLOY / "README.md", ROOT / "README.md"]
    builds = [
        line
        for page in pages
        for line in page.read_text().splitlines()
        if re.search(r"docker build .*deploy/Dockerfile", line)
    ]
    assert builds
    assert [line for line in builds if "BASE=python:3.12-slim@$digest" not in line] == []
