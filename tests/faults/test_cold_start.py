"""A start that has to compile first can be stopped at once, and leaves the state as it was."""

import os
import signal
import subprocess
from functools import partial
from pathlib import Path

import orjson
import pytest

from fugu.operators import compiled
from tests.faults.feeding import PARTITIONS, document_with_topics, paced_feed, stream
from tests.faults.outcomes import check_one_outcome_each, published
from tests.kafka.pages import Pages
from tests.kafka.pipelines import (
    FUGU,
    SECRET_VARIABLE,
    Document,
    fugu,
    running,
    write_pipeline,
)
from tests.kafka.ports import free_ports
from tests.kafka.records import NOW, Placed, Record, end_offsets, produce, read_topic
from tests.kafka.topics import TopicFactory
from tests.thinned import first_in_test

RECORDS = 2_000
COMPILING_TAKES_LONGER = 12
"""Seconds, of at least twenty that an empty cache costs."""

needs_numba = pytest.mark.skipif(not compiled.available(), reason="needs the extra fast")


@needs_numba
@pytest.mark.parametrize("how", first_in_test([signal.SIGTERM, signal.SIGINT], 1))
def test_a_stop_while_steps_are_compiled_ends_at_once_and_changes_nothing(
    bootstrap: str,
    topics: TopicFactory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    how: signal.Signals,
) -> None:
    private = stream(RECORDS, seed=3)
    document = document_with_topics(bootstrap, topics, topics("private", partitions=PARTITIONS))
    pipeline = write_pipeline(tmp_path, document)

    def stopped_at(line: str, cache: str) -> str:
        with monkeypatch.context() as patched:
            patched.setenv("FUGU_CACHE_DIR", str(tmp_path / cache))
            with running(pipeline, command=(FUGU,)) as process:
                process.wait_until(lambda: line in process.stderr)
                assert "compiled code: compiling for this machine, once" in process.stderr
                process.process.send_signal(how)
                assert process.exit_code(seconds=COMPILING_TAKES_LONGER) == 0, process.stderr
                return process.stderr

    with paced_feed(bootstrap, document, private) as feed:
        said = stopped_at("compiled steps", "first")
        assert "stopped before it was ready; the next start goes on from here" in said
        assert orjson.loads(fugu("state", "show", pipeline, "--json")) == []
        sink = document["sink"]["topic"]
        with running(pipeline, command=(FUGU,)) as process:
            process.wait_until(lambda: feed.advance() >= RECORDS // 2)
            process.wait_until(lambda: all(end_offsets(feed.consumer, sink)))
            assert process.stop() == 0, process.stderr
        before = fugu("state", "show", pipeline, "--json")
        stopped_at("compiling for this machine", "second")
        assert fugu("state", "show", pipeline, "--json") == before
        fugu("state", "rotate", pipeline, "--keys", tmp_path / "keys.json")
        document["secret"] = {"file": "keys.json", "encoding": "keys"}
        pipeline = write_pipeline(tmp_path, document)
        with running(pipeline, command=(FUGU,)) as process:
            process.wait_until(lambda: feed.advance() >= RECORDS)
            assert process.stop() == 0, process.stderr
    check_one_outcome_each(private, *published(bootstrap, document))


@needs_numba
def test_health_says_that_a_start_compiles(
    bootstrap: str, topics: TopicFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = document_with_topics(bootstrap, topics, topics("private", partitions=PARTITIONS))
    port = free_ports(1)
    document["metrics"] = {"port": port}
    pages = Pages(port)

    def health() -> str:
        try:
            return str(pages.get("/healthz")[1])
        except OSError:
            return ""

    monkeypatch.setenv("FUGU_CACHE_DIR", str(tmp_path / "cache"))
    with running(write_pipeline(tmp_path, document), command=(FUGU,)) as process:
        process.wait_until(lambda: "starting: compiling for this machine, once" in health())
        process.process.send_signal(signal.SIGTERM)
        assert process.exit_code(seconds=COMPILING_TAKES_LONGER) == 0, process.stderr


def of_numbers(bootstrap: str, topics: TopicFactory, source: str) -> Document:
    """A pipeline whose releases are numbers."""
    document = document_with_topics(bootstrap, topics, source)
    bounds = {"lower": 0, "upper": 200, "unit": 0.5}
    return document | {"operator": {"kind": "laplace", **bounds, "epsilon": 1.0}}


def all_released(bootstrap: str, sink: str) -> bool:
    """Return whether every record has a release."""
    return sum(map(len, read_topic(bootstrap, sink).values())) == RECORDS


@pytest.mark.acceptance
@needs_numba
def test_after_fugu_compile_a_first_start_compiles_nothing(
    bootstrap: str, topics: TopicFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FUGU_CACHE_DIR", str(tmp_path / "cache"))
    symbols, numbers = (topics("private", partitions=PARTITIONS) for _ in range(2))
    documents = [
        document_with_topics(bootstrap, topics, symbols),
        of_numbers(bootstrap, topics, numbers),
    ]
    paths = [
        write_pipeline(tmp_path / document["operator"]["kind"], document) for document in documents
    ]
    environment = {name: value for name, value in os.environ.items() if name != SECRET_VARIABLE}
    command: list[str | Path] = [FUGU, "compile", *paths, "--json"]
    said = orjson.loads(subprocess.check_output(command, env=environment))
    assert said["compiled"][0]["functions"] > 0
    code = sorted((tmp_path / "cache").rglob("*.nb?"))
    values = b'{"zone": "rest"}', b'{"zone": 71.5}'
    for document, path, value in zip(documents, paths, values, strict=True):
        records = [
            Placed(user % PARTITIONS, Record(b"user-%d" % user, value, timestamp=NOW + user))
            for user in range(RECORDS)
        ]
        produce(bootstrap, document["source"]["topic"], records)
        with running(path, command=(FUGU,)) as process:
            process.wait_until(partial(all_released, bootstrap, document["sink"]["topic"]))
            assert process.stop() == 0, process.stderr
            assert "compiled code: kept in" in process.stderr
    assert sorted((tmp_path / "cache").rglob("*.nb?")) == code
