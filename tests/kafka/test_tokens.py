"""OAUTHBEARER: tokens of a real OIDC server, which Kafka checks by its keys (JWKS)."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fugu.dataflows.kafka.connection import Library
from tests.kafka.pipelines import check_refusal, pipeline_document, running, write_pipeline
from tests.kafka.records import Placed, Record, produce, read_topic
from tests.kafka.secured import CANARY, PASSWORD, USER, SecuredListeners
from tests.kafka.token_server import TokenServer, serving
from tests.kafka.topics import TopicFactory

RECORDS = [Record(b"user-%d" % (i % 5), b'{"zone":"light"}') for i in range(40)]


@pytest.fixture(scope="module")
def tokens(secured: SecuredListeners) -> Iterator[TokenServer]:
    server = TokenServer(secured.signing, {USER: PASSWORD})
    with serving(server, secured.folder / "server.pem") as running_server:
        yield running_server


@pytest.mark.parametrize(
    "library",
    ["librdkafka", pytest.param("kafka-python", marks=pytest.mark.acceptance)],
)
def test_a_pipeline_logs_in_by_tokens_and_gets_new_ones_in_time(
    library: Library,
    tokens: TokenServer,
    secured: SecuredListeners,
    bootstrap: str,
    topics: TopicFactory,
    tmp_path: Path,
) -> None:
    source = topics("tokens")
    sink = f"{source}.out"
    document = pipeline_document(bootstrap, source, sink) | {
        "kafka": secured.oauth(tokens.url) | {"client": library}
    }
    produce(bootstrap, source, [Placed(0, record) for record in RECORDS])
    before = tokens.given
    with running(write_pipeline(tmp_path, document)) as process:
        process.wait_until(lambda: len(read_topic(bootstrap, sink)[0]) == len(RECORDS))
        first = tokens.given - before
        until = time.monotonic() + 1.5 * tokens.seconds
        process.wait_until(lambda: time.monotonic() > until)
        produce(bootstrap, source, [Placed(0, record) for record in RECORDS])
        process.wait_until(lambda: len(read_topic(bootstrap, sink)[0]) == 2 * len(RECORDS))
        assert tokens.given - before > first, "tokens live shorter than the pipeline ran"
        assert process.stop() == 0, process.stderr
    assert CANARY not in process.stderr


def test_who_is_not_known_is_told_who_refused(
    tokens: TokenServer, secured: SecuredListeners, topics: TopicFactory, tmp_path: Path
) -> None:
    source = topics("no-token")
    document = pipeline_document("replaced:1", source, f"{source}.out")
    secret = {"client_secret": {"env": "FUGU_TEST_WRONG_PASSWORD"}}
    document["kafka"] = secured.oauth(tokens.url, **secret)
    with running(write_pipeline(tmp_path / "server", document)) as process:
        said = check_refusal(process)
    assert f"the token server refuses client {USER} (401)" in said
    assert CANARY not in said
    other = TokenServer(secured.signing, {USER: PASSWORD}, audience="others")
    with serving(other, secured.folder / "server.pem"):
        document["kafka"] = secured.oauth(other.url)
        with running(write_pipeline(tmp_path / "kafka", document)) as process:
            said = check_refusal(process)
    assert f"does not accept the token of client {USER}" in said
    assert CANARY not in said
