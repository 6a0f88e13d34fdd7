"""A large alphabet in a file of its own: the same pipeline as with the list, and checked alike."""

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from fugu.dataflows.base.errors import ConfigurationError, StartRefused
from fugu.dataflows.commands.explain import explain
from fugu.dataflows.files.alphabet_file import MOST_VALUES, read_matrix
from fugu.dataflows.kinds import AlphabetOperator
from fugu.dataflows.kinds.families.symbols import in_short
from fugu.dataflows.pipeline.config import PipelineFile, reading_digest
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.state.fingerprint import check_same
from tests.dataflows.files.sparse_models import SPARSE
from tests.dataflows.pipeline.pipeline_files import MODEL, PIPELINE, configured, read, read_error
from tests.dataflows.state.fingerprints import FINGERPRINT

LIST = "alphabet: [rest, light, vigorous]"
IN_TEXT = PIPELINE.replace(LIST, "alphabet: {file: zones.txt}")
IN_MODEL = PIPELINE.replace(LIST, "alphabet: {file: model.json}")
WITHOUT_MODEL = IN_TEXT.replace("  model: model.json\n", "")
ZONES = "rest\nlight\nvigorous\n"


def alphabet(directory: Path, lines: str | bytes, text: str = IN_TEXT) -> list[str] | list[int]:
    content = lines if isinstance(lines, bytes) else lines.encode()
    (directory / "zones.txt").write_bytes(content)
    operator = read(directory, text).pipeline.operator
    assert isinstance(operator, AlphabetOperator)
    return operator.alphabet


@pytest.mark.parametrize(
    ("lines", "symbols"),
    [
        (ZONES, ["rest", "light", "vigorous"]),
        ("rest\r\nlight\r\nvigorous", ["rest", "light", "vigorous"]),
        (b"\xef\xbb\xbfrest\nlight", ["rest", "light"]),
        ("3\n-1\n0", [3, -1, 0]),
        ('"3"\n" two "\n01', ["3", " two ", "01"]),
        ("# 1\n- 2: x", ["# 1", "- 2: x"]),
    ],
)
def test_every_line_is_a_symbol(
    lines: str | bytes, symbols: list[str] | list[int], tmp_path: Path
) -> None:
    assert alphabet(tmp_path, lines) == symbols


@pytest.mark.parametrize(
    "kind", ["kind: grr", "kind: oue", "kind: cold_start_crr\n  positions: 9\n  when_short: accept"]
)
def test_kinds_without_a_model_take_it_too(kind: str, tmp_path: Path) -> None:
    text = WITHOUT_MODEL.replace("kind: crr", kind)
    assert alphabet(tmp_path, ZONES, text) == ["rest", "light", "vigorous"]
    assert configure(read(tmp_path, text)).mechanism.kind == kind.split()[1]


def test_the_alphabet_of_a_model_file_is_taken_from_it(tmp_path: Path) -> None:
    from_model = configured(tmp_path, MODEL, IN_MODEL)
    assert from_model.mechanism.law_digest() == configured(tmp_path).mechanism.law_digest()


def test_where_symbols_are_written_changes_no_digest(tmp_path: Path) -> None:
    (tmp_path / "zones.txt").write_text(ZONES)
    (tmp_path / "model.json").write_bytes(orjson.dumps(MODEL))
    texts = (PIPELINE, IN_TEXT, IN_MODEL)
    assert len({reading_digest(read(tmp_path, text).pipeline) for text in texts}) == 1


@pytest.mark.parametrize("lines", ["light\nrest\nvigorous", f"{ZONES}sprint", "rest\nlight"])
def test_a_changed_file_is_refused_at_the_next_start(lines: str, tmp_path: Path) -> None:
    digests = []
    for content in (ZONES, lines):
        (tmp_path / "zones.txt").write_text(content)
        digests.append(reading_digest(read(tmp_path, IN_TEXT).pipeline))
    before, now = (FINGERPRINT.model_copy(update={"reading": digest}) for digest in digests)
    with pytest.raises(
        StartRefused, match=r"operator\.alphabet, other, ticks or when_null changed"
    ):
        check_same(before, now)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("rest\nlight\nrest", "line 3 is line 1 again; every symbol may be listed once"),
        ('rest\n"rest"', "line 2 is line 1 again"),
        ("rest\n\nlight", "line 2 is empty; delete it"),
        ("rest\nlight\n\n", "line 3 is empty; delete it"),
        ("rest\nlight ", "line 2 begins or ends with a blank; delete it, or put the symbol in"),
        ("rest\n7", "line 2 is not of the kind of line 1: symbols must be all text or all"),
        ('rest\n"light', "line 2 is not a JSON text; end it with a quote"),
        ("1\n-9223372036854775809", "line 2 is an integer that does not fit into 64 bits; put it"),
        (
            "9" * 5000,
            "line 1 is an integer that does not fit into 64 bits; put it in double quotes",
        ),
        ("", "lists no symbols; write at least one"),
        (b"\xff\xfe", "is not UTF-8 text"),
    ],
)
def test_an_error_names_the_field_and_both_lines(
    lines: str | bytes, says: str, tmp_path: Path
) -> None:
    (tmp_path / "zones.txt").write_bytes(lines if isinstance(lines, bytes) else lines.encode())
    error = read_error(tmp_path, IN_TEXT)
    assert error.startswith("pipeline.yaml:7: operator.alphabet: zones.txt: ")
    assert says in error
    assert "\n" not in error


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"[", "line 1 is not valid JSON"),
        (b'["rest"]', 'has no key "alphabet"'),
        (b'{"alphabet": "rest"}', "lists no symbols"),
        (b'{"alphabet": ["rest", "rest"]}', "entry 2 is entry 1 again"),
        (b'{"alphabet": ["rest", null]}', "entry 2 is neither text nor an integer"),
    ],
)
def test_a_json_file_is_checked_alike(content: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_bytes(content)
    error = read_error(tmp_path, IN_MODEL)
    assert error.startswith(f"pipeline.yaml:7: operator.alphabet: model.json: {says}")


def test_a_missing_file_and_other_keys_are_answered(tmp_path: Path) -> None:
    assert "zones.txt: cannot be read (No such file" in read_error(tmp_path, IN_TEXT)
    wrong = PIPELINE.replace(LIST, "alphabet: {path: zones.txt}")
    assert "or {file: FILE} with one on each line" in read_error(tmp_path, wrong)


def test_one_symbol_is_too_few_for_randomized_response(tmp_path: Path) -> None:
    (tmp_path / "zones.txt").write_text("rest\n")
    error = read_error(tmp_path, WITHOUT_MODEL.replace("kind: crr", "kind: grr"))
    assert "alphabet must list two symbols or more" in error


def test_the_file_is_found_beside_the_pipeline_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "zones.txt").write_text(ZONES)
    (tmp_path / "pipeline.yaml").write_text(IN_TEXT.replace("zones.txt", "lists/zones.txt"))
    monkeypatch.chdir(tmp_path.parent)
    read_from_elsewhere = PipelineFile.read(Path(tmp_path.name) / "pipeline.yaml")
    assert isinstance(read_from_elsewhere.pipeline.operator, AlphabetOperator)
    assert read_from_elsewhere.pipeline.operator.alphabet == ["rest", "light", "vigorous"]


def test_a_small_alphabet_is_shown_in_full() -> None:
    assert in_short([1, 2, 3]) == "1, 2, 3"


def test_a_large_alphabet_is_explained_in_one_line_and_listed_for_machines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = [f"page-{number:04d}" for number in range(1, 2_000)] + ["OTHER"]
    (tmp_path / "zones.txt").write_text("\n".join(pages))
    file = read(tmp_path, WITHOUT_MODEL.replace("kind: crr", "kind: oue"))
    explain([file], as_json=False)
    said = capsys.readouterr().out
    assert "2,000 symbols: page-0001, page-0002, …, OTHER" in said
    assert len(said) < 4_000
    explain([file], as_json=True)
    document = orjson.loads(capsys.readouterr().out)
    assert document["alphabet"] == pages
    assert document["parameters"]["alphabet"].startswith("2,000 symbols: ")


# Files with matrices: what is read, and what is refused by file, row and column.


ROWS = [[0.9, 0.1], [0.25, 0.75]]


def written(directory: Path, content: Any, name: str = "zones.json") -> Path:
    path = directory / name
    if name.endswith(".npy"):
        np.save(path, content)
    else:
        path.write_bytes(content if isinstance(content, bytes) else orjson.dumps(content))
    return path


def test_rows_are_read_from_json_and_from_numpy(tmp_path: Path) -> None:
    assert read_matrix(written(tmp_path, ROWS)).tolist() == ROWS
    assert read_matrix(written(tmp_path, [[1, 0], [0, 1]])).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert read_matrix(written(tmp_path, np.array(ROWS), "zones.npy")).tolist() == ROWS
    assert read_matrix(written(tmp_path, np.eye(3, dtype=int), "eye.npy")).tolist() == [
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
    ]


def test_a_model_file_is_read_after_its_smoothing(tmp_path: Path) -> None:
    rows = [[1.0, 0.0], ROWS[1]]
    binary = MODEL | {"alphabet": ["up", "down"], "prior": "uniform", "transition": rows}
    matrix = read_matrix(written(tmp_path, binary | {"smoothing": 0.1}))
    assert matrix == pytest.approx(np.array([[0.95, 0.05], [0.275, 0.725]]))


def test_sparse_rows_of_a_model_become_a_matrix(tmp_path: Path) -> None:
    single = SPARSE | {"transition": [row for row in SPARSE["transition"] if not _pair(row)]}
    matrix = read_matrix(written(tmp_path, single))
    assert matrix.shape == (3, 3)
    assert matrix.sum(axis=1) == pytest.approx([1.0, 1.0, 1.0])


def _pair(row: dict[str, Any]) -> bool:
    return isinstance(row["from"], list)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"[[0.9, 0.1],\n [0.5,", "zones.json:2: is not valid JSON"),
        (3, "zones.json: write a list of rows, such as [[0.9, 0.1], [0.4, 0.6]]"),
        ([0.5, 0.5], "zones.json: matrix row 0: write a list of numbers"),
        ([[0.5, 0.5], [0.5, "x"]], "zones.json: matrix row 1, column 1: write a number"),
        ([[0.5, 0.5], [True, 0.0]], "zones.json: matrix row 1, column 0: write a number"),
        ([[0.5, 0.5], [None, 1.0]], "zones.json: matrix row 1, column 0: write a number"),
        ([[0.5, 0.5], [1.1, -0.1]], "zones.json: matrix row 1, column 1: a probability must not"),
        (
            [[0.5, 0.5], [0.5, 0.4]],
            "zones.json: matrix row 1: must sum to 1 within 1e-09, not to 0.9",
        ),
        (
            [[0.5, 0.5]],
            "zones.json: matrix row 0: has 2 columns, but there are 1 rows; write a square",
        ),
        ([], "zones.json: matrix: needs at least one row"),
        ({"format": "other"}, "zones.json: format: "),
        (SPARSE, "zones.json: has rows for pairs of symbols, and leakage needs a matrix; learn it"),
        (
            [[1.0]] * (MOST_VALUES + 1),
            "zones.json: 401 values are too many, 400 are the most; join",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, content: Any, says: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_matrix(written(tmp_path, content))
    assert str(caught.value).removeprefix(f"{tmp_path}/").startswith(says)


@pytest.mark.parametrize(
    ("array", "says"),
    [
        (np.ones(3), "zones.npy: write one square matrix, an array of two dimensions"),
        (
            np.array([[0.5, np.nan], [0.5, 0.5]]),
            "zones.npy: matrix row 0, column 1: must be a finite",
        ),
        (np.array([["a", "b"], ["c", "d"]]), "zones.npy: matrix row 0, column 0: write a number"),
        (np.array([[None]]), "zones.npy: is not a .npy file; write it with numpy.save"),
    ],
)
def test_arrays_are_checked_alike(tmp_path: Path, array: Any, says: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_matrix(written(tmp_path, array, "zones.npy"))
    assert str(caught.value).removeprefix(f"{tmp_path}/").startswith(says)


@pytest.mark.parametrize("name", ["none.json", "none.npy"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"{name} cannot be read \(No such file"):
        read_matrix(tmp_path / name)


@pytest.mark.parametrize("content", [b"", b"[[1.0]]", b"\x93NUMPY\x01\x00v\x00{'descr'"])
def test_what_is_no_array_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "zones.npy"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"zones.npy: is not a .npy file"):
        read_matrix(path)
