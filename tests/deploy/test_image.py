"""The image is built by its Dockerfile without a daemon, and runs a pipeline as user 1000."""

import json
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
import yaml
from packaging.utils import canonicalize_name

from tests.deploy.image import IMAGE, LOCK, pins
from tests.faults.feeding import PARTITIONS, stream
from tests.kafka.pages import Pages
from tests.kafka.pipelines import MODEL, SECRET, pipeline_document
from tests.kafka.ports import free_ports
from tests.kafka.records import produce, read_topic
from tests.kafka.topics import TopicFactory

pytestmark = pytest.mark.acceptance
RECORDS = 2_000
PATIENCE_SECONDS = 60


def buildah(*arguments: str | Path) -> str:
    ended = subprocess.run(
        [IMAGE / "buildah", *arguments], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


@pytest.fixture(scope="module")
def container() -> Iterator[str]:
    """Build the image, and return a container of it."""
    ended = subprocess.run([IMAGE / "build"], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-4000:]
    container = buildah("from", "--pull-never", "localhost/fugu")
    yield container
    buildah("rm", container)


def inside(container: str, *command: str) -> str:
    return buildah("run", container, "--", *command)


def test_it_runs_as_a_user_who_may_write_to_state_and_compiled_code_only(container: str) -> None:
    assert inside(container, "id", "-u") == "1000"
    assert buildah("inspect", "--format", "{{.OCIv1.Config.User}}", container) == "1000:1000"
    find = "find / -xdev -writable -not -type l 2>/dev/null || true"
    writable = inside(container, "sh", "-c", find).splitlines()
    # Everybody's folders are not the image's; Kubernetes mounts them, or makes them read only.
    everybodys = re.compile(r"/(dev|proc|sys|run|tmp|var/tmp)(/|$)")
    own = {path for path in writable if not everybodys.match(path)}
    assert own == {"/var/lib/fugu", "/var/cache/fugu"}


def test_its_bill_of_materials_lists_the_locked_packages(container: str) -> None:
    bill = json.loads(inside(container, "cat", "/opt/fugu/sbom.cdx.json"))
    assert bill["bomFormat"] == "CycloneDX"
    found = {(canonicalize_name(c["name"]), c["version"]) for c in bill["components"]}
    environment = {"sys_platform": "linux"}
    wanted = {
        (canonicalize_name(pin.requirement.name), pin.version)
        for pin in pins(LOCK)
        if pin.requirement.marker is None or pin.requirement.marker.evaluate(environment)
    }
    assert found == wanted
    assert bill["metadata"]["component"]["name"] == "fugu-streams"


def test_a_pipeline_starts_without_compiling_and_stops_gracefully(
    container: str, bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    private = stream(RECORDS, seed=3)
    source = topics("private", partitions=PARTITIONS)
    produce(bootstrap, source, private.placed)
    document = pipeline_document(bootstrap, source, topics("sanitized", partitions=PARTITIONS))
    document["kafka"]["client"] = "librdkafka"
    document["state"]["directory"] = "/var/lib/fugu/state"
    document["secret"] = {"file": "/etc/fugu-secret/secret"}
    document["metrics"] = {"port": free_ports(1)}
    for folder, files in {
        "fugu": {"pipeline.yaml": yaml.safe_dump(document), "model.json": json.dumps(MODEL)},
        "fugu-secret": {"secret": SECRET},
    }.items():
        (tmp_path / folder).mkdir()
        for name, text in files.items():
            (tmp_path / folder / name).write_text(text)

    with run(container, tmp_path) as (process, log):
        wait_for(log, Pages(document["metrics"]["port"]).is_healthy)
        sink = document["sink"]["topic"]
        good = sum(private.good)
        wait_for(log, lambda: sum(map(len, read_topic(bootstrap, sink).values())) >= good)
        stop(process)
        assert process.wait(PATIENCE_SECONDS) == 0, log.read_text()
    said = log.read_text()
    assert "compiled code: kept in /opt/fugu/compiled" in said
    assert "compiling for this machine" not in said


@contextmanager
def run(container: str, mounted: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Run `fugu run /etc/fugu/pipeline.yaml` with the folders that the chart mounts."""
    command: list[str | Path] = [IMAGE / "buildah", "run"]
    for folder in mounted.iterdir():
        command += ["--volume", f"{folder}:/etc/{folder.name}:ro"]
    command += [container, "--", "fugu", "run", "/etc/fugu/pipeline.yaml"]
    log = mounted / "log"
    with log.open("wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
    try:
        yield process, log
    finally:
        process.kill()
        process.wait()


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ask the pipeline to stop, as a kubelet does: buildah itself would kill it."""
    inside = psutil.Process(process.pid).children(recursive=True)
    [pipeline] = [one for one in inside if not one.children()]
    pipeline.send_signal(signal.SIGTERM)


def wait_for(log: Path, reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not reached():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.2)
