"""What a registry answers is read within bounds: what is beyond them stops nothing."""

import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler

import orjson
import pytest

from fugu.dataflows.kafka import registry_answers
from fugu.dataflows.kafka.schema_registry import RegistryUnavailable
from fugu.dataflows.records.registered import SchemaText
from tests.dataflows.kafka.played_registry import Answer, PlayedRegistry, played_registry, whole


def told(registry: PlayedRegistry) -> SchemaText:
    """What the schema 7 is."""
    found = registry.client.text_of(7)
    assert found is not None
    return found


def why_away(registry: PlayedRegistry) -> str:
    with pytest.raises(RegistryUnavailable) as raised:
        registry.client.text_of(7)
    return raised.value.why


def endless(begin: bytes) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(begin)
        while True:
            handler.wfile.write(b" " * 65_536)

    return answer


def drop_by_drop(handler: BaseHTTPRequestHandler) -> None:
    """A body of which a byte comes ten times a second."""
    handler.send_response(200)
    handler.end_headers()
    for _ in range(200):
        handler.wfile.write(b" ")
        time.sleep(0.1)


def headers_drop_by_drop(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.flush_headers()
    for _ in range(200):
        handler.wfile.write(b"x")
        time.sleep(0.1)


def test_each_reference_is_asked_for_once_however_many_ways_lead_there() -> None:
    depth = 40
    with played_registry() as registry:
        for level in range(depth):
            below = [f"s{level + 1}a", f"s{level + 1}b"] if level + 1 < depth else []
            for side in "ab":
                registry.add(f"s{level}{side}", f"text of {level}{side}", references=below)
        registry.add(7, "whole", references=["s0a", "s0b"])
        found = told(registry)
        assert len(registry.asked) == len(set(registry.asked)) == 2 * depth + 1
    assert next(iter(found.references)) == f"s{depth - 1}a"
    assert found.references["s3b"] == "text of 3b"
    assert not found.problem


def test_references_in_a_circle_end() -> None:
    with played_registry() as registry:
        registry.add("one", "1", references=["two"])
        registry.add("two", "2", references=["one"])
        registry.add(7, "whole", references=["one"])
        assert told(registry).references == {"two": "2", "one": "1"}


def test_more_references_than_there_may_be_make_a_schema_unusable() -> None:
    with played_registry() as registry:
        for number in range(1_100):
            registry.add(f"s{number}", "text")
        registry.add(7, "whole", references=[f"s{number}" for number in range(1_100)])
        assert "more than 1,000 references" in told(registry).problem
        assert len(registry.asked) <= 1_002
        registry.add("chain0", "text")
        for number in range(1, 300):
            registry.add(f"chain{number}", "text", references=[f"chain{number - 1}"])
        registry.add(7, "whole", references=["chain299"])
        assert "100 deep" in told(registry).problem
        registry.add(7, "whole", names={f"name {one}": "s1" for one in range(1_100)})
        assert "more than 1,000 references" in told(registry).problem


def test_half_a_character_in_a_schema_or_a_subject_holds_nothing_back() -> None:
    with played_registry() as registry:
        registry.add(7, "half \ud800")
        assert told(registry).text == "half \ud800"
        registry.add(7, "whole", references=["\ud800"])
        assert "does not have" in told(registry).problem


def test_a_reference_that_is_gone_makes_a_schema_unusable() -> None:
    with played_registry() as registry:
        registry.add(7, "whole", references=["gone"])
        assert "does not have" in told(registry).problem


def test_a_schema_of_too_many_bytes_is_unusable_and_takes_no_memory() -> None:
    with played_registry() as registry:
        registry.answers["/schemas/ids/7"] = endless(b'{"schema": "')
        assert "more than 4,194,304 bytes" in told(registry).problem
        for number in range(3):
            registry.add(f"s{number}", "x" * 2_000_000)
        registry.add(7, "whole", references=["s0", "s1", "s2"])
        assert "more than 4,194,304 bytes" in told(registry).problem


def test_what_no_registry_answers_holds_records_back() -> None:
    with played_registry() as registry:
        path = "/schemas/ids/7"
        registry.answers[path] = endless(b"<html>")
        assert why_away(registry) == "it answers no JSON"
        registry.answers[path] = whole(b"<html>hello</html>", headers={"Content-Type": "text/html"})
        assert why_away(registry) in ("JSONDecodeError", "RecursionError")
        registry.answers[path] = whole(b"[" * 100_000)
        assert why_away(registry) in ("JSONDecodeError", "RecursionError")
        for body in ("[]", "{}", '{"schema": 5}', '{"schema": "x", "references": [{"name": "y"}]}'):
            registry.answers[path] = whole(body.encode())
            assert why_away(registry)
        reference = {"name": "y", "subject": "y", "version": "1/../../x"}
        registry.answers[path] = whole(orjson.dumps({"schema": "x", "references": [reference]}))
        assert why_away(registry) == "it answers with a version that is no number"


def test_a_redirect_is_not_followed() -> None:
    with played_registry() as registry:
        registry.answers["/schemas/ids/7"] = whole(b"", 302, {"Location": f"{registry.url}/other"})
        assert why_away(registry) == "it answers 302"
        assert registry.asked == ["/schemas/ids/7"]


@pytest.mark.parametrize("answer", [drop_by_drop, headers_drop_by_drop])
def test_an_answer_that_comes_slowly_ends_in_time(
    answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry_answers, "SECONDS", 1.0)
    with played_registry() as registry:
        registry.answers["/schemas/ids/7"] = answer
        begin = time.monotonic()
        assert why_away(registry)
        assert time.monotonic() - begin < 5


def test_a_schema_that_takes_too_long_in_all_is_unusable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry_answers, "SECONDS", 1.0)

    def slow(handler: BaseHTTPRequestHandler) -> None:
        time.sleep(0.2)
        whole(b'{"schema": "text"}')(handler)

    with played_registry() as registry:
        names = [f"s{number}" for number in range(50)]
        registry.answers |= {f"/subjects/{name}/versions/1": slow for name in names}
        registry.add(7, "whole", references=names)
        begin = time.monotonic()
        found = told(registry)
        assert time.monotonic() - begin < 5
        assert "takes more than" in found.problem
        assert found.seconds == 0


def test_a_name_and_a_password_are_sent_and_the_second_address_is_asked_when_one_is_silent() -> (
    None
):
    seen: list[str | None] = []

    def note(handler: BaseHTTPRequestHandler) -> None:
        seen.append(handler.headers["Authorization"])
        whole(b'{"schema": "text"}')(handler)

    with played_registry() as registry:
        registry.answers["/schemas/ids/7"] = note
        url = f"http://localhost:9,{registry.url}/"
        settings = {"url": url, "basic.auth.user.info": "me:pass:word"}
        with registry_answers.RegistryAnswers(settings, 5.0) as answers:
            assert answers.schema("schemas/ids/7") == SchemaText("AVRO", "text")
    assert seen == ["Basic bWU6cGFzczp3b3Jk"]


def test_a_process_ends_while_a_registry_does_not_answer() -> None:
    """A stop waits for no answer."""
    program = """
import sys
from fugu.dataflows.kafka.schema_registry import SchemaRegistry
registry = SchemaRegistry(sys.argv[1], lambda: {"url": sys.argv[1]})
assert not registry.are_there({7})
print("asked", flush=True)
sys.stdin.readline()
"""
    with played_registry() as registry:
        registry.answers["/schemas/ids/7"] = lambda _: time.sleep(30)
        command = [sys.executable, "-c", program, registry.url]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"asked\n"
            while not registry.asked:
                time.sleep(0.01)
            begin = time.monotonic()
            process.communicate(b"\n")
            assert time.monotonic() - begin < 3
            assert process.returncode == 0
