"""Reports in ticks are evaluated tick by tick, also where a stream is absent."""

from pathlib import Path

import orjson
import pytest

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.offline.evaluation.family import Wanted
from fugu.dataflows.offline.evaluation.records.family import RecordFamily
from fugu.dataflows.offline.evaluation.records.symbols import SymbolUtility
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from tests.dataflows.stages.reports.running import ZONES, pipeline_file

TRUTH = ["ab", "a", "", "ab", "b", "a"]
"""Say who is there in each second."""
ALONE = {"stream_time": {"distinct_keys": 1}}


def sample_of(directory: Path, file: PipelineFile, seconds: list[str]) -> Sample:
    """Return records of who is there, at the zone of the second, and one that is late."""
    lines = [
        {"key": user, "zone": ZONES[second % 3], "at": 1000 * second + 10}
        for second, users in enumerate(seconds)
        for user in users
    ]
    lines.append({"key": "a", "zone": "rest", "at": 1})
    path = directory / "sample.jsonl"
    path.write_bytes(b"\n".join(map(orjson.dumps, lines)))
    return Sample.read(path, "key", configure(file).codec)


def planned(
    directory: Path, file: PipelineFile, seconds: list[str], rivals: str | None = None
) -> RecordFamily:
    """Return what is evaluated."""
    sample = sample_of(directory, file, seconds)
    return RecordFamily.planned(file, sample, Wanted(rivals=rivals))


def test_a_record_is_a_tick_of_a_stream_and_absence_is_its_value(tmp_path: Path) -> None:
    """The last tick stays open, and the record that came late is refused."""
    sample = planned(tmp_path, pipeline_file(tmp_path, ALONE, {}), TRUTH).sample
    absent = len(ZONES)
    ticks = list(zip(sample.decoded.keys, sample.decoded.values.tolist(), strict=True))
    assert [value for key, value in ticks if key == b"a"] == [0, 1, absent, 0, absent]
    assert [value for key, value in ticks if key == b"b"] == [0, absent, absent, 0, 1]
    assert [str(reason) for reason in sample.decoded.dead.reasons] == ["late"]


def test_rivals_report_in_the_same_ticks_with_equal_nats(tmp_path: Path) -> None:
    family = planned(tmp_path, pipeline_file(tmp_path, ALONE | {"life": 3}, {}), TRUTH)
    kinds = {one.kind for one in family.grid.candidates}
    assert kinds == {
        "pba_ldp",
        "budget_distribution_ldp",
        "budget_absorption_ldp",
        "uniform_ldp",
        "sample_ldp",
    }
    promised = {
        (one.epsilon, guarantee.window, guarantee.tick_milliseconds)
        for one in family.grid.candidates
        for guarantee in one.mechanism.guarantees()
    }
    assert promised == {(epsilon, 3, 1_000) for epsilon in (4 / 3, 8 / 3, 16 / 3)}


def test_shares_are_of_all_ticks_and_a_reader_undoes_the_flips(tmp_path: Path) -> None:
    file = pipeline_file(tmp_path, ALONE, {"kind": "uniform_ldp", "flags": None, "epsilon": 24.0})
    seconds = [("ab" if second % 2 else "a") for second in range(40)]
    report = planned(tmp_path, file, seconds, rivals="sample_ldp").report(runs=2, seed=1)
    own = next(row for row in report.rows if row.configured).utility
    assert isinstance(own, SymbolUtility)
    assert own.debiased is not None
    assert own.debiased.total_variation.value < 0.05
    assert any("also where it has none" in note for note in report.notes)


def test_kinds_that_count_records_are_no_rivals_in_ticks(tmp_path: Path) -> None:
    with pytest.raises(FuguError, match="--rivals grr: is no operator that reads the same values"):
        planned(tmp_path, pipeline_file(tmp_path, ALONE, {}), TRUTH, rivals="grr")


def test_a_sample_of_one_tick_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FuguError, match="no tick of it is closed"):
        planned(tmp_path, pipeline_file(tmp_path, ALONE, {}), ["ab"])
