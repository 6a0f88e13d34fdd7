"""A promise that others may have written is believed as far as it follows from its law."""

from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest

import fugu
from fugu.analysis import PromiseAlarm
from fugu.dataflows.analysis.collected import COLLECTED, collected_records
from fugu.dataflows.analysis.reading import decoded_records
from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.kinds import KINDS
from fugu.dataflows.publishing.checked_promise import checked_promise
from fugu.dataflows.publishing.promise import Promise
from tests.dataflows.analysis.sanitized import sanitized, walks
from tests.dataflows.kinds.example_files import example_of
from tests.dataflows.publishing.test_promise import promised

LIE = "nobody learns anything"


def claiming(promise: Promise, epsilon: float) -> Promise:
    """Return a promise that claims less than its law gives, under the same id."""
    claimed = [{**one, "epsilon": epsilon} for one in promise.guarantees]
    text = promise.text.replace("epsilon = 1", f"epsilon = {epsilon}")
    return promise.model_copy(update={"guarantees": claimed, "text": f"{text} {LIE}"})


def lying(promise: Promise) -> Promise:
    """Return a promise with other sentences, whose numbers and names are the true ones."""
    first, *others = promise.guarantees
    told = {**first, "adversary": {**first["adversary"], "sentence": LIE}}
    told["not_covered"] = [{**one, "sentence": LIE} for one in first["not_covered"]]
    return promise.model_copy(update={"guarantees": [told, *others], "text": LIE})


@pytest.mark.parametrize("kind", KINDS)
def test_a_genuine_promise_says_what_follows_from_its_law(kind: str, tmp_path: Path) -> None:
    genuine = promised(kind, tmp_path)
    found, problem = checked_promise(genuine)
    assert problem is None
    if KINDS[kind].published_whole:
        assert found == genuine
    else:
        epsilons = [one["epsilon"] for one in genuine.guarantees]
        assert [one["epsilon"] for one in found.guarantees] == epsilons
        assert "was not computed from the law" in found.text


@pytest.mark.parametrize("kind", ["grr", "crr", "laplace", "uniform"])
def test_an_epsilon_that_does_not_follow_from_the_law_is_not_shown(
    kind: str, tmp_path: Path
) -> None:
    genuine = promised(kind, tmp_path)
    found, problem = checked_promise(claiming(genuine, 0.001))
    assert found == genuine
    assert problem is not None
    assert "(guarantees, text)" in problem
    assert "somebody else" in problem


def test_an_epsilon_is_refused_where_no_law_tells_a_better_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is not believed"):
        checked_promise(claiming(promised("unicorn", tmp_path), 0.001))


def test_a_law_of_others_does_not_change_what_was_promised_under_an_id(tmp_path: Path) -> None:
    genuine = promised("grr", tmp_path)
    other = promised("grr", tmp_path, changes={"epsilon": 0.001})
    stolen = other.model_copy(update={"guarantee_id": genuine.guarantee_id})
    with pytest.raises(ConfigurationError, match="is not believed"):
        checked_promise(stolen)
    copied = stolen.model_copy(update={"guarantees": genuine.guarantees, "text": genuine.text})
    found, problem = checked_promise(copied)
    assert [one["epsilon"] for one in found.guarantees] == [1.0]
    assert "0.001" not in found.text
    assert problem is not None
    assert "promises something else" in problem


def test_numbers_for_estimates_are_those_of_the_law(tmp_path: Path) -> None:
    genuine = promised("grr", tmp_path)
    other = genuine.model_copy(update={"estimator": {"reported_if_true": 1.0}})
    found, problem = checked_promise(other)
    assert found.estimator == genuine.estimator
    assert problem is not None
    assert "(estimator)" in problem


@pytest.mark.parametrize("kind", ["grr", "unicorn", "anonymize"])
def test_nobody_puts_words_into_the_mouth_of_a_promise(kind: str, tmp_path: Path) -> None:
    found, _ = checked_promise(lying(promised(kind, tmp_path)))
    assert LIE not in f"{found!r}"


def test_reading_warns_and_shows_what_was_computed(tmp_path: Path) -> None:
    records, promise = sanitized(example_of("grr", tmp_path), walks(4, 20, 4, seed=1, stay=0.8))
    given = orjson.loads(claiming(promise, 0.001).value())
    with pytest.warns(PromiseAlarm, match="other things than follow from its law"):
        topic = fugu.read(records, promise=given)
    assert topic.promise == promise
    assert "0.001" not in f"{topic.promise}"
    assert LIE not in f"{topic.promise}"


def test_a_promise_that_nothing_was_released_under_is_not_that_of_the_topic(
    tmp_path: Path,
) -> None:
    records, genuine = sanitized(example_of("grr", tmp_path), walks(4, 20, 4, seed=1, stay=0.8))
    other = promised("grr", tmp_path, changes={"epsilon": 0.001})
    assert checked_promise(other) == (other, None)
    table = decoded_records(
        pa.Table.from_batches(collected_records(records), COLLECTED), [genuine, other]
    )
    topic = fugu.analysis.Topic(table, [genuine, other])
    assert topic.promise == genuine
    assert genuine.guarantee_id in f"{topic!r}"


MALFORMED: dict[str, tuple[str, dict[str, Any]]] = {
    "too many symbols for the mechanism": (
        "cold_start_crr",
        {"operator": {"alphabet": [f"s{number}" for number in range(100)]}},
    ),
    "no budget": ("grr", {"budget": {"total": "x"}}),
    "a budget that nothing charges": ("threshold_perturbation", {"budget": {"total": 3.0}}),
    "a file that is no model": ("crr", {"files": {}}),
    "a million symbols": ("grr", {"operator": {"alphabet": ["s"] * 1_000_000}}),
    "no number": ("grr", {"operator": {"epsilon": [[]]}}),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_law_that_cannot_be_built_is_refused_in_words(name: str, tmp_path: Path) -> None:
    kind, changes = MALFORMED[name]
    genuine = promised(kind, tmp_path)
    update = dict(changes)
    if "operator" in changes:
        update["operator"] = {**genuine.operator, **changes["operator"]}
    read = Promise.read(genuine.model_copy(update=update).value())
    assert read is not None
    with pytest.raises(ConfigurationError):
        read.mechanism()


def test_a_million_symbols_are_refused_before_one_of_them_is_looked_at(tmp_path: Path) -> None:
    genuine = promised("grr", tmp_path)
    many = {**genuine.operator, "alphabet": [None] * 1_000_000}
    with pytest.raises(ConfigurationError, match="lists 1,000,000 symbols, more than 131,072"):
        genuine.model_copy(update={"operator": many}).mechanism()
    (tmp_path / "symbols.txt").write_text("\n".join(["", *map(str, range(1_000_000))]))
    with pytest.raises(ConfigurationError, match="lists 1,000,001 symbols"):
        example_of("grr", tmp_path, {"alphabet": {"file": "symbols.txt"}})
