"""Samples are read by the codec of the pipeline, as records are; bad lines are only counted."""

from pathlib import Path

import pytest

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.offline.evaluation.sample import Sample, refused_lines
from fugu.dataflows.records.json_fields import FieldTimestamp
from tests.dataflows.stages.columns import codec


def written(directory: Path, *lines: str) -> Path:
    path = directory / "sample.jsonl"
    path.write_text("\n".join(lines))
    return path


def test_keys_are_texts_or_integers_and_blank_lines_are_nothing(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        '{"key": "alice", "zone": "light", "note": "dropped"}',
        "",
        '{"zone": "rest", "key": 7}\r',
        '{"key": "alice", "zone": "vigorous"}',
        "",
    )
    sample = Sample.read(path, "key", codec())
    assert sample.decoded.keys == [b"alice", b"7", b"alice"]
    assert sample.decoded.values.tolist() == [1, 0, 2]
    assert sample.decoded.offsets == [1, 3, 4], "offsets are line numbers"
    assert sample.streams.tolist() == [0, 1, 0]
    assert (sample.records, sample.stream_count) == (3, 2)


def test_times_and_event_ids_are_read_where_the_pipeline_reads_them(tmp_path: Path) -> None:
    line = '{"user": "alice", "zone": "rest", "at": 12, "id": "a"}'
    reading = codec(timestamp=FieldTimestamp("at", 1000), event="id")
    decoded = Sample.read(written(tmp_path, line), "user", reading).decoded
    assert decoded.timestamps == [12_000]
    assert decoded.events is not None
    assert len(decoded.events) == 1


def test_bad_lines_are_counted_by_reason_with_the_first_line_of_each(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "private, but not JSON",
        '{"key": "a", "zone": "rest"}',
        '{"key": "a", "zone": "private"}',
        '["private"]',
        '{"zone": "rest"}',
        '{"key": true, "zone": "rest"}',
        '{"key": "a"}',
        "{{",
        '{"key": "", "zone": "rest"}',
        '{"key": "a", "zone": NaN}',
    )
    refused = refused_lines(Sample.read(path, "key", codec()).decoded.dead)
    assert [(some.reason, some.field, some.lines, some.first_line) for some in refused] == [
        (Reason.NOT_JSON, "", 2, 1),
        (Reason.OUTSIDE_DOMAIN, "zone", 1, 3),
        (Reason.WRONG_TYPE, "", 1, 4),
        (Reason.NO_KEY, "key", 2, 5),
        (Reason.WRONG_TYPE, "key", 1, 6),
        (Reason.FIELD_MISSING, "zone", 1, 7),
        (Reason.NOT_FINITE, "zone", 1, 10),
    ]
    assert str(refused[0]) == "not_json: 2, first in line 1"
    assert str(refused[1]) == "outside_domain (zone): 1, first in line 3"
    assert "private" not in "".join(map(str, refused))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "no line can be used: it is empty"),
        ('{"zone": "rest"}', "no line can be used: no_key (key): 1, first in line 1"),
        ('\n{"key": 1, "zone": "private"}', "outside_domain (zone): 1, first in line 2"),
    ],
)
def test_a_file_without_any_usable_line_is_an_error_that_shows_what_to_write(
    content: str, says: str, tmp_path: Path
) -> None:
    reading = codec(timestamp=FieldTimestamp("at", 1), event="id")
    with pytest.raises(FuguError) as caught:
        Sample.read(written(tmp_path, content), "key", reading)
    text = str(caught.value)
    assert says in text
    assert text.endswith('such as  {"key": "user-1", "zone": …, "at": …, "id": …}')
    assert "private" not in text


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FuguError, match=r"nothing\.jsonl: cannot be read \(No such file"):
        Sample.read(tmp_path / "nothing.jsonl", "key", codec())
