"""Every mistake in a pipeline file is answered with the line and with what to write instead."""

from datetime import timedelta
from pathlib import Path

import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.files.yaml_file import LARGEST_FILE
from fugu.dataflows.kinds.crr import CrrOperator
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.source_section import TimestampField
from tests.dataflows.pipeline.pipeline_files import PIPELINE, read, read_error, with_change

CRR = "kind: crr\n  alphabet: [rest, light, vigorous]\n  epsilon: 1.0\n  model: model.json"
ANONYMIZE = """\
name: patients
source: {topic: visits, value: place}
operator:
  kind: anonymize
  taxonomy: {Disease: [Flu]}
  sensitive: diagnosis
  privacy_height: 2
  quantum: 1h
  sigma: 1/2
  K: 5
  rho: 2
  ticks: {width: 1d}
sink:
  key: pseudonym
  topic: rows
kafka: {bootstrap: "localhost:9092"}
state: {directory: ./state}
secret: {env: FUGU_SECRET}
"""
ALPHABET = "[rest, light, vigorous]"


def test_a_correct_file_is_read_with_its_defaults(tmp_path: Path) -> None:
    pipeline = read(tmp_path).pipeline
    assert pipeline.sink.dead_letter_topic == "vitals.sanitized.dead"
    assert pipeline.state.every == timedelta(seconds=1)
    assert pipeline.source.timestamp == "kafka"
    assert not pipeline.sink.create


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("epsilon: 1.0\n  ", "", 5, "operator.epsilon: is required; add it"),
        ("  key:", "  zzzz:", 12, "sink.zzzz: unknown key; delete it"),
        ("epsilon: 1.0", "epsilon: one", 8, "valid number"),
        ("epsilon: 1.0", "epsilon: '1.0'", 8, "valid number"),
        ("epsilon: 1.0", "epsilon: true", 8, "valid number"),
        ("epsilon: 1.0", "epsilon: 0", 8, "more than 0"),
        ("epsilon: 1.0", "epsilon: .nan", 8, "finite"),
        ("epsilon: 1.0", "epsilon: .inf", 8, "finite"),
        ("epsilon: 1.0", "epsilon: 51", 8, "at most 50"),
        ('"localhost:9092"', "a:1\n  transactions: yes please", 15, ": write true, false or auto"),
        ("kind: crr", "kind: ccr", 6, "there is no 'ccr'; did you mean crr"),
        ("kind: crr", "kind: nothing", 6, "there is no 'nothing'; fugu kinds lists all"),
        ("kind: crr", "kind: threshold", 6, "did you mean threshold_perturbation?"),
        ("localhost:9092", "localhost", 14, "write host:port, such as localhost:9092; several"),
        ("kind: crr", "kind: paper_crr", 5, "accept_unsound: true"),
        ("kind: crr", "kind: crr\n  other: sprint", 5, "other must be one of the alphabet"),
        (ALPHABET, "[on, off]", 7, "symbol 1 is neither text nor an integer; put quotes"),
        (ALPHABET, "[rest, 1.5]", 7, "symbol 2 is neither text nor an integer; put quotes"),
        (ALPHABET, "[rest, null]", 7, "symbol 2 is neither text nor an integer; put quotes"),
        (ALPHABET, "[1, rest]", 7, "all text or all integers; put quotes"),
        (ALPHABET, "[rest, rest]", 7, "may be listed once"),
        (ALPHABET, "[]", 7, "write a list of symbols, such as"),
        (ALPHABET, "rest", 7, "write a list of symbols, such as"),
        ("name: heart-zones", "name: heart zones", 1, "use letters, digits, dot"),
        ("name: heart-zones", "name: 7", 1, "put quotes around it if it is meant as text"),
        ("name: heart-zones", "name: 2026-01-01", 1, "put quotes around it"),
        ("every: 1s", "every: 1", 17, "write a duration with its unit, such as 500ms, 1s or 1m"),
        ("every: 1s", "every: 1ms", 17, "at least 50ms"),
        ("every: 1s", f"every: {'9' * 30}s", 17, "at most 60m"),
        ("key: pseudonym", "key: no", 12, "'pseudonym', 'original' or 'none'"),
        ("value: zone", "value: zone\n  timestamp: when", 5, "'kafka' or 'broker'"),
        (
            "value: zone",
            "value: zone\n  timestamp: {field: at, format: epoch-ns}",
            5,
            "source.timestamp.format: input should be 'epoch-ms', 'epoch-s' or 'rfc3339'",
        ),
        ("value: zone", "value: zone\n  max_batch: 0", 5, "at least 1"),
        ("value: zone", "value: zone\n  budget: 0", 5, "source.budget: must be more than 0"),
        ("value: zone", "value: zone\n  budget: .inf", 5, "source.budget: input should be"),
        ("value: zone", "value: zone\n  budget: '3'", 5, "source.budget: input should be a valid"),
        (
            "value: zone",
            "value: zone\n  budget: {epsilon: 3}",
            5,
            "source.budget.delta: is required",
        ),
        (
            "value: zone",
            "value: zone\n  budget: {epsilon: 3, delta: 1.0}",
            5,
            "source.budget.delta: must be less than 1",
        ),
        ("vitals.sanitized", "vitals.raw", 1, "must be different ones"),
        ("env: FUGU_TEST_SECRET", "{}", 18, "write either env: NAME or file: PATH"),
        ("env: FUGU_TEST_SECRET", "env: A\n  file: b", 18, "write either env: NAME or file: PATH"),
        ("env: FUGU_TEST_SECRET", "env: A\n  encoding: raw", 18, "use hex or base64"),
        ('kafka:\n  bootstrap: "localhost:9092"', "kafka: here", 13, "write a section"),
        ("value: zone", "value: zone\n  value: zone", 5, "value is written twice; delete one"),
        ("value: zone", "value: zone\n  1: one", 5, "keys should be strings"),
    ],
)
def test_an_error_names_the_line_and_what_to_write(
    old: str, new: str, line: int, says: str, tmp_path: Path
) -> None:
    error = read_error(tmp_path, with_change(old, new))
    assert error.startswith(f"pipeline.yaml:{line}: ")
    assert says in error
    assert "\n" not in error


def test_a_misspelt_key_is_answered_with_the_right_one(tmp_path: Path) -> None:
    lines = read_error(tmp_path, with_change("epsilon", "epsilno")).splitlines()
    assert lines == [
        "pipeline.yaml:5: operator.epsilon: is required; add it",
        "pipeline.yaml:8: operator.epsilno: unknown key; did you mean epsilon?",
    ]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("sigma: 1/2", "sigma: 2", "9: operator.sigma: write a share above 0 and below 1"),
        ("quantum: 1h", "quantum: 7h", "8: operator.quantum: the width of a window"),
        ("key: pseudonym", "key: original", "14: sink.key: anonymize hides who a record is about"),
        (
            "taxonomy: {Disease: [Flu]}",
            "taxonomy: trees.yaml",
            "5: operator.taxonomy: trees.yaml: cannot be read (No such file or directory). Give",
        ),
        ("taxonomy: {Disease: [Flu]}", "taxonomy: {Disease: [Flu, Flu]}", "5: operator.taxonomy: "),
        ("rho: 2", "rho: 6", "3: operator.max_points: a person of 60 points brings"),
    ],
)
def test_what_is_wrong_between_keys_is_found_at_the_key_that_it_names(
    old: str, new: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pipeline.yaml").write_text(ANONYMIZE.replace(old, new))
    with pytest.raises(ConfigurationError) as error:
        PipelineFile.read(Path("pipeline.yaml"))
    assert str(error.value).startswith(f"pipeline.yaml:{says}")


def test_a_key_in_other_letters_is_answered_with_the_right_one(tmp_path: Path) -> None:
    error = read_error(tmp_path, with_change("epsilon: 1.0", "Epsilon: 1.0"))
    assert error.endswith("pipeline.yaml:8: operator.Epsilon: unknown key; did you mean epsilon?")


def test_a_key_in_the_wrong_section_is_answered_with_the_right_one(tmp_path: Path) -> None:
    [line] = read_error(tmp_path, PIPELINE + "epsilon: 1.0\n").splitlines()
    assert line.endswith(
        ": epsilon: unknown key here; did you mean operator.epsilon or source.budget.epsilon?"
    )


def test_a_section_below_another_one_is_not_answered_with_its_own_name(tmp_path: Path) -> None:
    [line] = read_error(
        tmp_path, with_change("epsilon: 1.0", "epsilon: 1.0\n  budget: {total: 9}")
    ).splitlines()
    assert line.endswith(
        "operator.budget: unknown key here; write it beside operator, not below; "
        "did you mean source.budget?"
    )


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("null", "operator: keys should be strings"),
        ('"null"', "operator.null: unknown key; did you mean when_null?"),
    ],
)
def test_null_is_no_key(key: str, says: str, tmp_path: Path) -> None:
    section = f"kind: threshold_perturbation\n  window: 5\n  threshold: 3\n  {key}: error"
    assert says in read_error(tmp_path, with_change(CRR, section))


def test_a_word_that_is_nothing_elsewhere_stays_nothing(tmp_path: Path) -> None:
    text = with_change(ALPHABET, "[rest, light]") + "budget: {total: 9, window: null}\n"
    budget = read(tmp_path, text).pipeline.budget
    assert budget is not None
    assert budget.window is None


def test_a_list_of_addresses_is_that_with_commas(tmp_path: Path) -> None:
    text = with_change('"localhost:9092"', "[one:9092, two:9093]")
    assert read(tmp_path, text).pipeline.kafka.bootstrap == "one:9092,two:9093"


def test_a_list_of_what_is_no_address_is_refused(tmp_path: Path) -> None:
    error = read_error(tmp_path, with_change('"localhost:9092"', "[one:9092, 7]"))
    assert error.startswith("pipeline.yaml:14: kafka.bootstrap: ")


def test_a_key_of_another_kind_is_not_answered_with_itself(tmp_path: Path) -> None:
    [line] = read_error(
        tmp_path, with_change("epsilon: 1.0", "epsilon: 1.0\n  samples: 3")
    ).splitlines()
    assert ": operator.samples: unknown key beside the other ones here; delete it" in line


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name: [", "pipeline.yaml:1: is not valid YAML"),
        ("name: a\n\tb: c", "pipeline.yaml:2: is not valid YAML"),
        ("name: a\n---\nname: b", "pipeline.yaml:2: is not valid YAML"),
        ("name: a\nx: \x00", "pipeline.yaml:2: is not valid YAML (it holds a control character"),
        ("name: !!python/object:os.system x", "pipeline.yaml:1: is not valid YAML"),
        ("? [a, b]\n: c", "pipeline.yaml:1: is not valid YAML"),
        (
            "name: [1,\n18446744073709551616]",
            "pipeline.yaml:2: an integer does not fit into 64 bits",
        ),
        ("name: [1, -9223372036854775809]", "64 bits; put quotes around it to make it text"),
        (f"name: {'9' * 5000}", "pipeline.yaml:1: YAML takes a value for int, and it is none"),
        ("name: 2026-02-30", "pipeline.yaml:1: YAML takes a value for timestamp, and it is none"),
        ("name: &again [*again]", "refers to itself or is nested too deeply"),
        ("name: " + "[" * 5000 + "]" * 5000, "refers to itself or is nested too deeply"),
        ("", "it starts with a line such as  name: heart-zones"),
        ("- name", "it starts with a line such as  name: heart-zones"),
        (b"\xff\xfe", "it is not UTF-8 text"),
    ],
)
def test_text_that_is_no_pipeline_file_is_refused(
    text: str | bytes, says: str, tmp_path: Path
) -> None:
    error = read_error(tmp_path, text)
    assert says in error
    assert "\n" not in error


@pytest.mark.parametrize("text", ["name: *hunter2", "name: !hunter2 x", "a: &hunter2 1\n--- 2"])
def test_text_that_may_be_a_password_is_not_repeated(text: str, tmp_path: Path) -> None:
    assert "hunter2" not in read_error(tmp_path, text)


def test_a_name_that_leaves_no_room_for_derived_topics_is_refused(tmp_path: Path) -> None:
    error = read_error(tmp_path, with_change("topic: vitals.sanitized", f"topic: {'s' * 241}"))
    assert "topics may have 249 characters, and " + "s" * 241 + ".promises has more" in error


def nine_times_each(levels: int, repeated: str) -> str:
    """A list of nine, a list of nine of it, and so on."""
    lines = [f"a0: &a0 {repeated}"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        nine_times_each(10, "[x, x, x, x, x, x, x, x, x]"),
        "a0: &a0 {k: 1}\n"
        + "\n".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}, *a{n - 1}]}}" for n in range(1, 30)),
        nine_times_each(40, "x"),
    ],
    ids=["lists", "merged keys", "deep"],
)
def test_a_file_that_aliases_make_huge_is_refused_with_the_limit(text: str, tmp_path: Path) -> None:
    error = read_error(tmp_path, text)
    assert "has more than 200,000 keys and values, with all that aliases (*) repeat" in error
    assert "\n" not in error


def test_a_file_that_is_huge_is_refused_before_it_is_read(tmp_path: Path) -> None:
    error = read_error(tmp_path, f"name: {'x' * (LARGEST_FILE + 1)}")
    assert "is larger than 4 MiB, the most that is read" in error


def test_aliases_and_merged_keys_are_read_as_what_they_stand_for(tmp_path: Path) -> None:
    text = with_change("env: FUGU_TEST_SECRET", "&secret\n  env: FUGU_TEST_SECRET")
    path = tmp_path / "pipeline.yaml"
    path.write_text(
        text.replace("name: heart-zones", "name: &name heart-zones").replace(
            "vitals.sanitized", "*name"
        )
    )
    assert PipelineFile.read(path).pipeline.sink.topic == "heart-zones"


def test_all_problems_are_listed_at_once(tmp_path: Path) -> None:
    wrong = PIPELINE.replace("epsilon: 1.0", "epsilon: 0").replace("every: 1s", "every: 2h")
    lines = [line.split(": ")[0] for line in read_error(tmp_path, wrong).splitlines()]
    assert lines == ["pipeline.yaml:8", "pipeline.yaml:17"]


def test_a_missing_file_and_a_directory_are_named(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.yaml", tmp_path):
        with pytest.raises(ConfigurationError, match=f"{path}: cannot be read"):
            PipelineFile.read(path)


def test_yaml_words_for_true_and_false_are_symbols_when_quoted(tmp_path: Path) -> None:
    file = read(tmp_path, with_change(ALPHABET, "['on', 'off']"))
    assert isinstance(file.pipeline.operator, CrrOperator)
    assert file.pipeline.operator.alphabet == ["on", "off"]


def test_a_timestamp_field_is_read(tmp_path: Path) -> None:
    changed = with_change("value: zone", "value: zone\n  timestamp: {field: at, format: epoch-s}")
    timestamp = read(tmp_path, changed).pipeline.source.timestamp
    assert timestamp == TimestampField(field="at", format="epoch-s")


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    assert read(tmp_path).resolve("./state") == tmp_path / "state"


@pytest.mark.parametrize("written", ["1e-3", "1E-3", "0.001", "+1e-3"])
def test_a_number_with_an_exponent_needs_no_dot(written: str, tmp_path: Path) -> None:
    path = tmp_path / "pipeline.yaml"
    path.write_text(PIPELINE.replace("epsilon: 1.0", f"epsilon: {written}"))
    assert PipelineFile.read(path).pipeline.model_dump()["operator"]["epsilon"] == 0.001
