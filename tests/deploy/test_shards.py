"""Shards of a release come under one directory, where commands find them, and back to volumes."""

import os
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from shutil import copytree, rmtree

import pytest

from fugu.dataflows.flows.stopped_state import stopped_state
from fugu.dataflows.kafka.partitioner import partition_of
from fugu.dataflows.state.directory import StateDirectory
from tests.dataflows.state.fingerprints import FINGERPRINT
from tests.deploy.chart import CHART
from tests.faults.feeding import document_with_topics
from tests.kafka.pipelines import Document, fugu, refusal, running, write_pipeline
from tests.kafka.records import NOW, Placed, Record, produce, read_topic
from tests.kafka.topics import TopicFactory

SHARDS = 3
KUBECTL = """#!/usr/bin/env bash
[[ $1 == --namespace && $3 == exec && $4 == --stdin && $6 == --container && $8 == -- ]] || exit 9
[[ -e $PODS/$5/runs ]] || export FUGU_MAINTENANCE=$PODS/$5/state
exec "${@:9}"
"""
"""Runs in a folder what kubectl would run in a pod."""

Shards = Callable[..., subprocess.CompletedProcess[str]]
USERS = [b"user-%d" % number for number in range(40)]


@pytest.fixture
def pods(tmp_path: Path) -> Path:
    """Return where each pod has a volume, with the state of its shard after a graceful stop."""
    for shard in range(SHARDS):
        begin = {str(shard): 10 * shard}
        own = {"shard": shard, "shards": SHARDS, "partitions": SHARDS, "source_begin": begin}
        directory = StateDirectory(place(tmp_path, shard))
        directory.lock()
        directory.create(FINGERPRINT.model_copy(update=own))
        directory.unlock()
    return tmp_path


@pytest.fixture
def shards(tmp_path: Path) -> Shards:
    """Return the command, with that kubectl."""
    kubectl = tmp_path / "bin" / "kubectl"
    kubectl.parent.mkdir()
    kubectl.write_text(KUBECTL)
    kubectl.chmod(0o755)

    def run(what: str, count: int = SHARDS) -> subprocess.CompletedProcess[str]:
        command = [str(CHART / "shards"), what, "demo", str(count), "--namespace", "privacy"]
        path = f"{kubectl.parent}:{os.environ['PATH']}"
        variables = os.environ | {"PATH": path, "PODS": str(tmp_path)}
        return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)

    return run


def place(pods: Path, shard: int, pod: int | None = None) -> Path:
    """Return where a shard is, by default on its own volume."""
    return pods / f"demo-{shard if pod is None else pod}" / "state" / f"shard-{shard:04d}"


def content(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def test_commands_find_all_shards_in_the_first_pod_and_pods_find_their_own_afterwards(
    pods: Path, shards: Shards
) -> None:
    before = [content(place(pods, shard)) for shard in range(SHARDS)]
    gathered = shards("gather")
    assert gathered.returncode == 0, gathered.stderr
    assert [place(pods, shard).exists() for shard in range(SHARDS)] == [True, False, False]
    with stopped_state(pods / "demo-0" / "state") as state:
        assert state.stopped_at == {"0": 0, "1": 10, "2": 20}
    scattered = shards("scatter")
    assert scattered.returncode == 0, scattered.stderr
    assert [content(place(pods, shard)) for shard in range(SHARDS)] == before
    assert [place(pods, shard, pod=0).exists() for shard in range(SHARDS)] == [True, False, False]
    assert all(place(pods, s).stat().st_mode & 0o777 == 0o700 for s in range(SHARDS))


def test_what_was_cut_short_is_completed(pods: Path, shards: Shards) -> None:
    """One copy is complete and its original not yet put aside; another one is half there."""
    copytree(place(pods, 1), place(pods, 1, pod=0))
    copytree(place(pods, 2), place(pods, 2, pod=0).with_name("incoming") / "shard-0002")
    rmtree(place(pods, 2, pod=0).with_name("incoming") / "shard-0002" / "rows")
    assert shards("gather").returncode == 0
    assert shards("gather").returncode == 0
    with stopped_state(pods / "demo-0" / "state") as state:
        assert len(state.directories) == SHARDS


def test_two_different_states_of_a_shard_are_left_alone(pods: Path, shards: Shards) -> None:
    copytree(place(pods, 1), place(pods, 1, pod=0))
    (place(pods, 1) / "stopped.json").write_text("{}")
    refused = shards("gather")
    assert refused.returncode == 1
    assert "demo-1 and demo-0 have different states in shard-0001" in refused.stderr
    assert place(pods, 1).exists()


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("demo-0/state/exchange.json", "demo-0 has exchange.json: a command was cut short"),
        ("demo-1/runs", "demo-1 cannot be asked"),
    ],
)
def test_nothing_moves_while_something_else_owns_the_state(
    pods: Path, shards: Shards, file: str, text: str
) -> None:
    (pods / file).touch()
    refused = shards("scatter")
    assert refused.returncode == 1
    assert text in refused.stderr


def test_a_shard_that_is_nowhere_is_missed(pods: Path, shards: Shards) -> None:
    rmtree(place(pods, 2))
    refused = shards("gather")
    assert refused.returncode == 1
    assert "shard-0002 is neither in demo-2 nor in demo-0" in refused.stderr


@pytest.mark.acceptance
def test_two_volumes_become_three_and_every_record_is_released_once(
    bootstrap: str, topics: TopicFactory, tmp_path: Path, shards: Shards
) -> None:
    partitions = 4
    document = document_with_topics(bootstrap, topics, topics("private", partitions=partitions))
    document["source"]["partitioner"] = "murmur2"

    def send_and_release(count: int, so_far: int) -> None:
        """Send a record of everybody, and run one process on each volume until all are released."""
        records = [
            Placed(partition_of(key, partitions, "murmur2"), Record(key, ZONE, timestamp=NOW))
            for key in USERS
        ]
        produce(bootstrap, document["source"]["topic"], records)
        pods = [pipeline_of(tmp_path, document, pod, count) for pod in range(count)]
        with ExitStack() as stack:
            ran = [
                stack.enter_context(running(file, "--shard", f"{pod}/{count}"))
                for pod, file in enumerate(pods)
            ]
            for one in ran:
                one.wait_until(lambda: released(bootstrap, document) == so_far)
            assert [one.stop() for one in ran] == [0] * count, ran[0].stderr

    send_and_release(2, len(USERS))
    assert shards("gather", 2).returncode == 0
    left = pipeline_of(tmp_path, document, 1, 2)
    assert "there is no state for them" in refusal(left, "--shard", "1/2")
    assert "moved" in fugu("state", "repartition", pipeline_of(tmp_path, document, 0, 3))
    scattered = shards("scatter", 3)
    assert scattered.returncode == 0, scattered.stderr
    send_and_release(3, 2 * len(USERS))


ZONE = b'{"zone": "rest"}'


def pipeline_of(pods: Path, document: Document, pod: int, count: int) -> Path:
    """Return the pipeline file of a pod, whose state is on its volume."""
    own = {"directory": str(pods / f"demo-{pod}" / "state"), "shards": count}
    return write_pipeline(pods / f"file-{pod}", document | {"state": document["state"] | own})


def released(bootstrap: str, document: Document) -> int:
    return sum(map(len, read_topic(bootstrap, document["sink"]["topic"]).values()))
