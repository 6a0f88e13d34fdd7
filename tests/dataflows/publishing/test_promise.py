"""State what a pipeline promises as one document, and build the law of its releases from it."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.kinds import KINDS
from fugu.dataflows.pipeline.guarantee_data import guarantee_id, read_guarantee
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.publishing import promise
from fugu.dataflows.publishing.promise import Promise, promise_of, promise_schema
from tests.dataflows.kinds.example_files import example_of

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


def test_keys_of_a_later_version_are_passed_over_and_another_format_is_not(tmp_path: Path) -> None:
    content = orjson.loads(promised("grr", tmp_path).value())
    assert Promise.read(orjson.dumps({**content, "later": 1})) == promised("grr", tmp_path)
    assert Promise.read(orjson.dumps({**content, "format": 2})) is None
    assert Promise.read(b"null") is None


def test_the_schema_names_every_field_with_a_sentence() -> None:
    schema = promise_schema()
    assert set(schema["required"]) <= set(schema["properties"]) == set(Promise.model_fields)
    assert all(entry.get("description") for entry in schema["properties"].values())
