"""Finish batches that are not full, as `fugu run --finish` does, without Kafka."""

from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest

from fugu.dataflows.base.batches import Sanitized
from fugu.dataflows.pipeline.mechanisms import Configured
from fugu.dataflows.publishing.envelope import Pseudonyms, Publisher
from fugu.dataflows.stages.per_record import PerRecord
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.budget_units import units_of
from tests.dataflows.kinds.test_batched_section import pipeline
from tests.dataflows.pipeline.pipeline_files import configured
from tests.dataflows.stages.columns import EVERYBODY, SCOPE, SECRET, SOURCE, batch_of

ZONES = ["rest", "rest", "light", "vigorous", "vigorous"]
PARTITION = 2


@dataclass
class Stream:
    """One partition: its state, and what was published (key, value, release id, timestamp)."""

    made: Configured
    read: int = 0
    published: list[tuple[bytes | None, bytes, bytes, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lift = PerRecord(self.made.mechanism, SCOPE, SOURCE, EVERYBODY)
        self.table = RowTable(self.lift.start, self.lift.ends)
        pseudonyms = Pseudonyms(SECRET.derive("pseudonyms"), "sanitized")
        topics, name = (SOURCE, "raw"), b"0123456789abcdef"
        self.publisher = Publisher(self.made.codec, SCOPE, *topics, name, "original", pseudonyms)

    def feed(self, *keys: bytes) -> "Stream":
        """One record for each key."""
        values = [orjson.dumps({"zone": ZONES[(self.read + i) % 5]}) for i in range(len(keys))]
        batch = batch_of(list(zip(keys, values, strict=True)), first_offset=self.read)
        self.read += len(keys)
        return self._publish(self.lift(self.made.codec.decode(batch), self.table))

    def finish(self) -> "Stream":
        """Let out what is held back."""
        return self._publish(self.lift.finish(PARTITION, self.table, "drain"))

    def again(self) -> "Stream":
        """Another process, from the state as it is now."""
        other = Stream(self.made, self.read)
        other.table.apply(self.table.take_everything())
        return other

    def _publish(self, sanitized: Sanitized) -> "Stream":
        out = self.publisher.releases(sanitized)
        ids = [headers[0][1] for headers in out.headers]
        self.published += zip(out.keys, out.values, ids, out.timestamps, strict=True)
        return self

    @property
    def lists(self) -> list[tuple[bytes | None, int]]:
        """Keys, and how many symbols were published for them."""
        return [(key, len(orjson.loads(value)["zone"])) for key, value, *_ in self.published]


def stream(tmp_path: Path, *, budget: str = "", epsilon: float = 3.0) -> Stream:
    epsilons = "epsilon_per_batch: 3.0", f"epsilon_per_batch: {epsilon}"
    return Stream(configured(tmp_path, text=pipeline(*epsilons) + budget))


def test_batches_that_are_not_full_are_released_at_the_end(tmp_path: Path) -> None:
    finished = stream(tmp_path).feed(b"ada", b"ada", b"bob", b"eve", b"eve", b"eve").finish()
    assert finished.lists == [(b"eve", 3), (b"ada", 2), (b"bob", 1)]
    assert [timestamp for *_, timestamp in finished.published] == [1005] * 3
    value = orjson.loads(finished.published[1][1])
    assert list(value) == ["zone", "confidence"]
    assert 0.0 < value["confidence"] <= 1.0
    assert not finished.table.live("held").any()
    assert not finished.table.live("pending").any()


def test_a_shorter_batch_spends_its_share(tmp_path: Path) -> None:
    finished = stream(tmp_path).feed(b"ada", b"ada", b"bob").finish()
    two, one = finished.table.live("spent").tolist()
    assert 0 < two <= units_of(2.0)
    assert 0 < one <= units_of(1.0)


def test_finishing_after_a_crash_publishes_the_same_bytes(tmp_path: Path) -> None:
    before = stream(tmp_path).feed(*[b"user-%d" % (i % 7) for i in range(40)])
    replay = before.again()
    count = len(before.published)
    assert replay.finish().published == before.finish().published[count:]
    assert len(replay.published) > 0


def test_there_is_nothing_to_finish_twice(tmp_path: Path) -> None:
    finished = stream(tmp_path).feed(b"ada").finish()
    assert finished.finish().lists == [(b"ada", 1)]


def test_a_stream_goes_on_with_whole_batches_and_other_draws(tmp_path: Path) -> None:
    finished = stream(tmp_path).feed(b"ada").finish().feed(b"ada", b"ada", b"ada", b"ada").finish()
    assert [length for _, length in finished.lists] == [1, 3, 1]
    assert len({release_id for *_, release_id, _ in finished.published}) == 3
    assert len({timestamp for *_, timestamp in finished.published}) == 3


def test_two_ends_of_a_stream_have_different_positions(tmp_path: Path) -> None:
    """Many times the same end: releases differ, since each of them has draws of its own."""
    many = stream(tmp_path, epsilon=0.5)
    for _ in range(40):
        many.read = 0
        many.feed(b"ada").finish()
    shown = {value for _, value, *_ in many.published}
    assert len(shown) > 1


@pytest.mark.parametrize("policy", ["repeat", "suppress", "constant"])
def test_a_budget_ends_at_the_end_too(policy: str, tmp_path: Path) -> None:
    budget = f"budget:\n  total: 4\n  when_exhausted: {policy}\n"
    finished = stream(tmp_path, budget=budget)
    for _ in range(20):
        finished.feed(b"ada").finish()
    assert finished.table.live("spent").max() <= units_of(4.0 * (1 + 1e-9))


def test_a_budget_over_a_window_counts_what_is_released_at_the_end(tmp_path: Path) -> None:
    budget = "budget:\n  total: 3\n  window: 4\n  when_exhausted: suppress\n"
    finished, spent = stream(tmp_path, budget=budget), [0] * 4
    for number in range(60):
        finished.feed(b"ada")
        if number % 3 != 1:
            finished.finish()
        spent.append(int(finished.table.live("spent")[0]))
    windows = [later - earlier for earlier, later in zip(spent, spent[4:], strict=False)]
    assert max(windows) <= units_of(3.0 * (1 + 1e-9))
    assert max(windows) > units_of(1.5)


def test_a_repeated_list_is_the_last_whole_one(tmp_path: Path) -> None:
    finished = stream(tmp_path, budget="budget:\n  total: 4\n")
    for _ in range(4):
        finished.feed(b"ada", b"ada", b"ada", b"ada").finish()
    repeated = [value for _, value, *_ in finished.published if b"repeated" in value]
    assert repeated
    assert {len(orjson.loads(value)["zone"]) for value in repeated} == {3}
