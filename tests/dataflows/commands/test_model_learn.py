"""`fugu model learn`: a model from files, the same bytes each time, and what is refused."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import orjson
import pytest
from typer.testing import CliRunner

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.cli.fugu import app
from fugu.dataflows.files.model_file import ModelFile, read_model, read_model_file
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.robust_release import RobustRelease
from fugu.operators.sip.second_order_model import SecondOrderModel
from fugu.operators.sip.sparse_models import SparseMarkovModel
from tests.dataflows.pipeline.pipeline_files import PIPELINE, with_change

Event = tuple[str | int, str | int]
ZONES: list[Event] = [("a", "rest"), ("b", "light"), ("a", "light"), ("a", "rest"), ("b", "rest")]


def written(directory: Path, events: Sequence[Event], name: str = "history.jsonl") -> Path:
    path = directory / name
    lines = [orjson.dumps({"user": user, "zone": zone, "more": 1}) for user, zone in events]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def run(directory: Path, *arguments: str | Path) -> BaseException | None:
    """Return what the command ended with."""
    command = ["model", "learn", str(directory / "model.json"), "--key", "user"]
    return CliRunner().invoke(app, [*command, *map(str, arguments)]).exception


def learned(directory: Path, *arguments: str | Path) -> ModelFile:
    ended = run(directory, *arguments)
    assert ended is None, ended
    return read_model_file(directory / "model.json")


def refusal(directory: Path, *arguments: str | Path) -> str:
    ended = run(directory, *arguments)
    assert isinstance(ended, ConfigurationError)
    assert not list(directory.glob("model.json*"))
    return str(ended)


def test_a_model_is_counted_smoothed_and_signed(tmp_path: Path) -> None:
    history = written(tmp_path, ZONES)
    content = learned(
        tmp_path, history, "--value", "zone", "--source", "a survey", "--date", "2024-05-01"
    )
    assert content.alphabet == ["light", "rest"]
    assert content.format_version == 2
    assert content.learned is not None
    assert (content.learned.source, content.learned.date) == ("a survey", "2024-05-01")
    model = content.model()
    assert isinstance(model, MarkovModel)
    np.testing.assert_allclose(model.prior, [0.5, 0.5])
    np.testing.assert_allclose(model.transition, [[0.25, 0.75], [2 / 3, 1 / 3]], rtol=1e-8)


def test_intervals_are_written_that_robust_release_takes(tmp_path: Path) -> None:
    many = [(f"{user}-{number}", zone) for number in range(300) for user, zone in ZONES]
    history = written(tmp_path, many)
    content = learned(tmp_path, history, "--value", "zone", "--intervals", "0.9")
    model = content.model()
    assert content.intervals is not None
    assert isinstance(model, MarkovModel)
    around = content.intervals.around(model)
    assert around.contains(model)
    assert around.widths.max() < 0.5
    assert around.confidence == 0.9
    [sip, _] = RobustRelease(model, 1.0, intervals=around).guarantees()
    assert "learned, and contain the chain of their history with confidence 0.9" in str(
        sip.adversary
    )


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (("--intervals", "1.5"), "--intervals: confidence: must be above 0 and below 1, not 1.5"),
        (("--intervals", "0.9", "--sparse"), "--intervals: are for a matrix of first order"),
    ],
)
def test_intervals_that_cannot_be_are_refused(
    tmp_path: Path, asked: tuple[str, ...], reason: str
) -> None:
    assert reason in refusal(tmp_path, written(tmp_path, ZONES), "--value", "zone", *asked)


LEVELS: list[Event] = [("a", "rest"), ("a", "light"), ("a", "moderate"), ("a", "hard")]
ORDER = ["rest", "light", "moderate", "hard"]


def ordered(directory: Path, alphabet: str) -> list[str]:
    """Return remarks on a pipeline that ranks the symbols of the model it names."""
    path = directory / "pipeline.yaml"
    text = PIPELINE.replace("alphabet: [rest, light, vigorous]", f"alphabet: {alphabet}")
    assert text != PIPELINE
    path.write_text(text.replace("epsilon: 1.0", "epsilon: 1.0\n  distance: ordered"))
    file = PipelineFile.read(path)
    return file.pipeline.operator.remarks(file, configure(file).mechanism)


def test_an_order_that_nobody_declared_is_said_and_warned_of(tmp_path: Path) -> None:
    history = written(tmp_path, LEVELS)
    command = ["model", "learn", str(tmp_path / "model.json"), str(history), "--key", "user"]
    said = CliRunner().invoke(app, [*command, "--value", "zone"])
    assert said.exit_code == 0
    assert "symbols stand in sorted order" in " ".join(said.stdout.split())
    content = read_model_file(tmp_path / "model.json")
    assert content.alphabet == sorted(ORDER)
    [remark] = ordered(tmp_path, "{file: model.json}")
    assert "operator.distance: ordered ranks the symbols" in remark
    assert "hard < light < moderate < rest" in remark


def test_a_declared_order_is_kept_and_trusted(tmp_path: Path) -> None:
    history = written(tmp_path, LEVELS)
    content = learned(tmp_path, history, "--value", "zone", "--alphabet", ",".join(ORDER))
    assert content.alphabet == ORDER
    assert ordered(tmp_path, "{file: model.json}") == []
    (tmp_path / "model.json").unlink()
    learned(tmp_path, history, "--value", "zone", "--alphabet", ",".join(sorted(ORDER)))
    assert ordered(tmp_path, "{file: model.json}") == [], "letters may be the order that is meant"


def test_the_same_history_gives_the_same_bytes(tmp_path: Path) -> None:
    """In two files, too; and a file that is there is left alone."""
    rng = np.random.default_rng(1)
    events: list[Event] = [(int(u), f"s{x:02}") for u, x in rng.integers(0, [9, 80], (4000, 2))]
    whole = written(tmp_path, events)
    parts = written(tmp_path, events[:1500], "1.jsonl"), written(tmp_path, events[1500:], "2.jsonl")
    options = ("--value", "zone", "--order", "2", "--alpha", "0.001", "--source", "s")
    contents = []
    for number, files in enumerate([(whole,), (whole,), parts]):
        (directory := tmp_path / str(number)).mkdir()
        assert learned(directory, *files, *options, "--date", "2024-05-01").sparse_rows
        contents.append((directory / "model.json").read_bytes())
    assert contents[0] == contents[1] == contents[2]
    again = run(tmp_path / "0", whole, *options)
    assert "must not change" in str(again)
    assert (tmp_path / "0" / "model.json").read_bytes() == contents[0]
    model = read_model(tmp_path / "0" / "model.json", [f"s{x:02}" for x in range(80)])
    assert isinstance(model, SecondOrderModel)
    assert len(model.pairs) > 1000


def test_rare_symbols_become_another_one(tmp_path: Path) -> None:
    events = [*ZONES, ("c", "asleep"), ("c", "rest"), ("c", "ill")]
    content = learned(
        tmp_path, written(tmp_path, events), "--value", "zone", "--min-count", "2", "--sparse"
    )
    assert content.alphabet == ["light", "rest", "OTHER"]
    model = content.model()
    assert isinstance(model, SparseMarkovModel)
    np.testing.assert_allclose(model.rows.dense()[2], [0.25, 0.5, 0.25], rtol=1e-8)


@pytest.mark.parametrize("sparse", ["--sparse", "--dense"])
def test_a_pipeline_says_alphabet_and_field(sparse: str, tmp_path: Path) -> None:
    pipeline = tmp_path / "pipeline.yaml"
    pipeline.write_text(with_change("epsilon: 1.0", "epsilon: 1.0\n  other: rest"))
    events = [*ZONES, ("c", "asleep")]
    content = learned(tmp_path, written(tmp_path, events), "--pipeline", pipeline, sparse)
    assert content.alphabet == ["rest", "light", "vigorous"]
    np.testing.assert_allclose(content.model().prior, [3 / 6, 2 / 6, 1 / 6], rtol=1e-8)


def test_integers_stay_integers(tmp_path: Path) -> None:
    history = written(tmp_path, [("a", 3), ("a", 10), ("a", 3), ("b", 5)])
    content = learned(
        tmp_path, history, "--value", "zone", "--alphabet", "10,3", "--other", "10", "--sparse"
    )
    assert content.alphabet == [10, 3]
    np.testing.assert_allclose(content.model().prior, [0.5, 0.5])


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"{", "history.jsonl:2: is not valid JSON"),
        (b"[1]", "history.jsonl:2: write one JSON object a line"),
        (b'{"user": "canary"}', "history.jsonl:2: field zone is missing"),
        (b'{"zone": "rest"}', "history.jsonl:2: field user is missing"),
        (b'{"user": "a", "zone": true}', "2: field zone is neither text nor an integer"),
        (b'{"user": "a", "zone": 1.5}', "2: field zone is neither text nor an integer"),
        (b'{"user": "a", "zone": 3}', "symbols, .* must be all text or all integers"),
    ],
)
def test_a_bad_line_is_named_and_never_shown(line: bytes, says: str, tmp_path: Path) -> None:
    history = written(tmp_path, ZONES[:1])
    history.write_bytes(history.read_bytes() + line + b"\n")
    said = refusal(tmp_path, history, "--value", "zone")
    assert re.search(says, said)
    assert "canary" not in said


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "which field holds the symbol"),
        (("--value", "zone", "--alphabet", "rest,sleep"), "holds 1 symbols that are not in the al"),
        (("--value", "zone", "--alphabet", "rest,rest"), "list every symbol once"),
        (("--value", "zone", "--alpha", "0"), "has a zero .column"),
        (("--value", "zone", "--topic", "t"), "one of the two"),
        (("--value", "zone", "missing.jsonl"), "missing.jsonl cannot be read"),
    ],
)
def test_what_cannot_be_is_refused(options: tuple[str, ...], says: str, tmp_path: Path) -> None:
    assert re.search(says, refusal(tmp_path, written(tmp_path, ZONES), *options))


def test_nothing_to_learn_from_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_bytes(b"\n\n")
    assert "history is empty" in refusal(tmp_path, tmp_path / "empty.jsonl", "--value", "zone")
    assert "one of the two" in refusal(tmp_path, "--value", "zone")
    assert "needs --pipeline" in refusal(tmp_path, "--topic", "t", "--value", "zone")


def test_the_private_topic_of_the_pipeline_is_refused_with_the_reason(tmp_path: Path) -> None:
    """Before Kafka is asked for anything."""
    pipeline = tmp_path / "pipeline.yaml"
    pipeline.write_text(PIPELINE)
    said = refusal(tmp_path, "--topic", "vitals.raw", "--pipeline", pipeline)
    assert "vitals.raw is the private topic that" in said
    assert "leaks what was counted, outside every guarantee" in said
    assert "--public" in said


def test_releases_with_positions_left_out_are_refused(tmp_path: Path) -> None:
    """Two releases that stand side by side in the topic may be many records apart."""
    pipeline = tmp_path / "grr.yaml"
    grr = with_change("  model: model.json\n", "").replace("kind: crr", "kind: grr")
    pipeline.write_text(grr + "budget: {total: 4, window: 10}\n")
    said = refusal(tmp_path, "--released-by", pipeline)
    assert "grr.yaml: budget.window: positions without a release are not in the sanitized" in said


def test_only_what_is_read_of_a_line_counts(tmp_path: Path) -> None:
    history = written(tmp_path, ZONES)
    plain = learned(tmp_path, history, "--value", "zone")
    (tmp_path / "model.json").unlink()
    odd = [line[:-1] + ', "y": "\\ud83d", "n": 1e999}' for line in history.read_text().splitlines()]
    history.write_text("\n".join(odd))
    assert learned(tmp_path, history, "--value", "zone").transition == plain.transition
    (tmp_path / "model.json").unlink()
    history.write_text('{"user": "a", "zone": "\\ud83d"}')
    assert "field zone is neither text nor an integer" in refusal(
        tmp_path, history, "--value", "zone"
    )
