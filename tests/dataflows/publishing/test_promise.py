"""State what a pipeline promises as one document, and build the law of its releases from it."""

import zlib
from base64 import b64encode
from pathlib import Path
from typing import Any

import orjson
import pytest

from fugu.dataflows.base.errors import ConfigurationError, OtherVersion
from fugu.dataflows.kinds import KINDS
from fugu.dataflows.pipeline.guarantee_data import guarantee_id, read_guarantee
from fugu.dataflows.pipeline.mechanisms import configure, remarks_of
from fugu.dataflows.publishing import promise
from fugu.dataflows.publishing.promise import Promise, PromisedFile, promise_of, promise_schema
from tests.dataflows.kinds.example_files import example_of
from tests.dataflows.kinds.test_aggregate_section import PIPELINE

CANARY = "heartbeat-key-of-nobody"


def promised(kind: str, directory: Path, **more: Any) -> Promise:
    file = example_of(kind, directory, **more)
    return promise_of(file, configure(file).mechanism, "topic-id")


@pytest.mark.parametrize("kind", KINDS)
def test_the_law_is_built_again_from_the_record_alone(kind: str, tmp_path: Path) -> None:
    file = example_of(kind, tmp_path)
    mechanism = configure(file).mechanism
    written = promise_of(file, mechanism, "topic-id")
    for path in tmp_path.iterdir():
        path.unlink()
    read = Promise.read(written.value())
    assert read == written
    assert guarantee_id([read_guarantee(one) for one in read.guarantees]).decode() == (
        written.guarantee_id
    )
    if KINDS[kind].published_whole:
        assert read.mechanism().law_digest() == mechanism.law_digest()
    else:
        with pytest.raises(ConfigurationError, match="standard errors"):
            read.mechanism()


def test_a_budget_is_part_of_the_law(tmp_path: Path) -> None:
    file = example_of("crr", tmp_path, budget={"total": 3.0, "window": 5})
    written = promise_of(file, configure(file).mechanism)
    assert written.mechanism().law_digest() == configure(file).mechanism.law_digest()


def test_no_policy_and_no_owner_is_in_it(tmp_path: Path) -> None:
    assert promised("unicorn", tmp_path).operator.keys() <= {"kind", "statistic", "groups"}
    assert promised("unicorn", tmp_path).files == {}


def test_it_says_the_numbers_that_estimates_are_made_with(tmp_path: Path) -> None:
    assert promised("grr", tmp_path).estimator == {
        "reported_if_true": pytest.approx(0.4754, abs=1e-4),
        "reported_if_other": pytest.approx(0.1749, abs=1e-4),
    }
    assert promised("laplace", tmp_path).estimator["standard_deviation"] > 250
    for kind in ("grr", "laplace"):
        budgeted = promised(kind, tmp_path, budget={"total": 9.0})
        assert budgeted.estimator == promised(kind, tmp_path).estimator
    assert promised("threshold_perturbation", tmp_path).estimator["mean_delay"] > 1


def test_neither_secret_nor_heartbeats_are_in_it(tmp_path: Path) -> None:
    ticks = {"width": "15m", "stream_time": {"heartbeats": [CANARY]}}
    written = promised("uniform", tmp_path, changes={"ticks": ticks}).value()
    assert CANARY.encode() not in written
    assert b"FUGU_TEST_SECRET" not in written


def test_another_law_than_that_of_the_releases_is_refused(tmp_path: Path) -> None:
    written = promised("grr", tmp_path)
    other = written.model_copy(update={"operator": {**written.operator, "epsilon": 2.0}})
    with pytest.raises(ConfigurationError, match="is not the one"):
        other.mechanism()


def test_an_unknown_key_is_refused(tmp_path: Path) -> None:
    written = promised("planned_crr", tmp_path)
    other = written.model_copy(update={"operator": {**written.operator, "windows": 3}})
    with pytest.raises(ConfigurationError, match="does not know"):
        other.mechanism()


def test_a_file_that_is_too_large_is_asked_of_the_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(promise, "LARGEST_FILE", 10)
    file = example_of("crr", tmp_path)
    written = promise_of(file, configure(file).mechanism)
    with pytest.raises(ConfigurationError, match="too large"):
        written.mechanism()
    own = tmp_path / "heart-zones.model.json"
    mechanism = written.mechanism({"heart-zones.model.json": own})
    assert mechanism.law_digest() == configure(file).mechanism.law_digest()


def promised_model(directory: Path, **sink: Any) -> Promise:
    """Return the promise of `crr` with its model in another folder, named by its whole path."""
    (directory / "alice").mkdir()
    example_of("crr", directory / "alice")
    model = directory / "alice" / "heart-zones.model.json"
    return promised("crr", directory, changes={"model": str(model)}, **sink)


def test_no_directory_is_in_it(tmp_path: Path) -> None:
    written = promised_model(tmp_path)
    assert b"alice" not in written.value()
    assert written.operator["model"] == "heart-zones.model.json"
    assert written.files.keys() == {"heart-zones.model.json"}
    assert written.mechanism().law_digest().hex() == written.law.digest


@pytest.mark.parametrize("mode", ["without_files", "none"])
def test_files_that_are_kept_back_are_asked_of_the_reader(mode: str, tmp_path: Path) -> None:
    written = promised_model(tmp_path, sink={**PIPELINE["sink"], "promise": mode})
    [[name, held]] = written.files.items()
    assert held.content is None
    with pytest.raises(ConfigurationError, match=rf"does not hold the file {name}: .* files="):
        written.mechanism()
    own = written.mechanism({name: tmp_path / "alice" / name})
    assert own.law_digest().hex() == written.law.digest


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("anonymize", {"taxonomy": "secret.yaml"}),
        ("grr", {"alphabet": {"file": "secret.yaml"}}),
        ("quantified", {"correlation": {"transition": "secret.yaml", "at_most": 1.0}}),
    ],
)
def test_a_promise_of_others_opens_no_file_of_the_reader(
    kind: str, changes: dict[str, Any], tmp_path: Path
) -> None:
    """Its error would show lines of it."""
    secret = tmp_path / "secret.yaml"
    secret.write_text("password\npassword\n")
    written = promised(kind, tmp_path)
    named = orjson.loads(orjson.dumps(changes).replace(b"secret.yaml", bytes(secret)))
    other = written.model_copy(update={"operator": {**written.operator, **named}})
    with pytest.raises(ConfigurationError, match="may name no file of this machine") as refused:
        other.mechanism()
    assert "password" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (zlib.compress(bytes(2_000)), "of more than 1,000 bytes"),
        (b"no zlib", "is damaged"),
    ],
)
def test_what_others_packed_is_not_unpacked_without_a_limit(
    content: bytes, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = promised("crr", tmp_path)
    monkeypatch.setattr(promise, "LARGEST_CONTENT", 1_000)
    packed = PromisedFile(bytes=1, content=b64encode(content).decode())
    other = written.model_copy(update={"files": dict.fromkeys(written.files, packed)})
    with pytest.raises(ConfigurationError, match=problem):
        other.mechanism()


def test_a_model_of_the_private_topic_is_warned_of_where_it_is_published(tmp_path: Path) -> None:
    for source, mode, warned in (
        (PIPELINE["source"]["topic"], "whole", True),
        (PIPELINE["source"]["topic"], "without_files", False),
        (PIPELINE["source"]["topic"], "none", False),
        ("history.jsonl", "whole", False),
    ):
        file = example_of("crr", tmp_path, sink={**PIPELINE["sink"], "promise": mode})
        path = tmp_path / "heart-zones.model.json"
        learned = {"source": source, "date": "2026-11-25", "alphabet": "sorted"}
        content = {**orjson.loads(path.read_bytes()), "learned": learned}
        path.write_bytes(orjson.dumps(content))
        remarks = remarks_of(file, configure(file).mechanism)
        assert any("sink.promise: without_files" in remark for remark in remarks) == warned


def test_keys_of_a_later_version_are_passed_over_and_another_format_is_not(tmp_path: Path) -> None:
    content = orjson.loads(promised("grr", tmp_path).value())
    assert Promise.read(orjson.dumps({**content, "later": 1})) == promised("grr", tmp_path)
    with pytest.raises(OtherVersion, match="the promise has format 2: another version"):
        Promise.read(orjson.dumps({**content, "format": 2}))
    assert Promise.read(b"null") is None


def test_the_schema_names_every_field_with_a_sentence() -> None:
    schema = promise_schema()
    assert set(schema["required"]) <= set(schema["properties"]) == set(Promise.model_fields)
    assert all(entry.get("description") for entry in schema["properties"].values())
