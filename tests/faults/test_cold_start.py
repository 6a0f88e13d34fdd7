"""A start that has to compile first can be stopped at once, and leaves the state as it was."""

import signal
from pathlib import Path

import orjson
import pytest

from fugu.operators import compiled
from tests.faults.feeding import PARTITIONS, document_with_topics, paced_feed, stream
from tests.faults.outcomes import check_one_outcome_each, published
from tests.kafka.pipelines import fugu, running, write_pipeline
from tests.kafka.topics import TopicFactory

RECORDS = 2_000
COMPILING_TAKES_LONGER = 12
"""Seconds, of at least twenty that an empty cache costs."""

needs_numba = pytest.mark.skipif(not compiled.available(), reason="needs the extra fast")


@needs_numba
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
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
            with running(pipeline) as process:
                process.wait_until(lambda: line in process.stderr)
                assert "compiled code: compiling for this machine, once" in process.stderr
                process.process.send_signal(how)
                assert process.exit_code(seconds=COMPILING_TAKES_LONGER) == 0, process.stderr
                return process.stderr

    with paced_feed(bootstrap, document, private) as feed:
        said = stopped_at("compiled steps", "first")
        assert "stopped before it read a record; the state is as it was" in said
        assert orjson.loads(fugu("state", "show", pipeline, "--json")) == []
        with running(pipeline) as process:
            process.wait_until(lambda: feed.advance() >= RECORDS // 2)
            assert process.stop() == 0, process.stderr
        before = fugu("state", "show", pipeline, "--json")
        stopped_at("compiling for this machine", "second")
        assert fugu("state", "show", pipeline, "--json") == before
        fugu("state", "rotate", pipeline, "--keys", tmp_path / "keys.json")
        document["secret"] = {"file": "keys.json", "encoding": "keys"}
        pipeline = write_pipeline(tmp_path, document)
        with running(pipeline) as process:
            process.wait_until(lambda: feed.advance() >= RECORDS)
            assert process.stop() == 0, process.stderr
    check_one_outcome_each(private, *published(bootstrap, document))
