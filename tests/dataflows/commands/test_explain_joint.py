"""`fugu explain` of two pipelines about the same people: what both tell, by how they connect."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.explain import explain
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.operators.leakage.combined import in_series
from fugu.operators.leakage.correlation import TemporalCorrelation
from tests.dataflows.pipeline.pipeline_files import PIPELINE, read_error
from tests.operators.leakage.chains import A, C

CRR = PIPELINE[PIPELINE.index("operator:") : PIPELINE.index("sink:")]
GRR = "operator:\n  kind: grr\n  alphabet: [rest, light]\n  epsilon: {epsilon}\n"
FAIR = [[0.5, 0.5], [0.5, 0.5]]
TURNING = [[0.8, 0.2], [0.4, 0.6]]
BESIDE = (
    ", beside: {{pipelines: {{nobody: parallel}}, correlation: "
    "{{transition: {transition}{backward}}}}}"
)
SLOW = [[0.99, 0.01], [0.01, 0.99]]
COUNTS = """\
operator:
  kind: pba
  groups: [rest, light]
  ticks: {width: 5m}
  epsilon: 1.0
  window: 8
  protects: presence
"""


def written(
    directory: Path, name: str, operator: str, beside: str = "", source: str = "vitals.raw"
) -> PipelineFile:
    ledger = f"ledger: {{topic: promises{beside}}}\n"
    text = PIPELINE.replace(CRR, operator).replace("sink:", f"{ledger}sink:", 1)
    if "ticks" in operator:
        stamp = "value: zone\n  timestamp: {field: at, format: epoch-ms}"
        text = text.replace("value: zone", stamp).replace("key: pseudonym", "key: none")
    own = [("heart-zones", name), ("vitals.sanitized", f"{name}.out"), ("vitals.raw", source)]
    for old, new in own:
        text = text.replace(old, new)
    path = directory / f"{name}.yaml"
    path.write_text(text)
    return PipelineFile.read(path)


def grr(
    directory: Path, name: str, epsilon: float = 1.0, beside: str = "", source: str = "vitals.raw"
) -> PipelineFile:
    return written(directory, name, GRR.format(epsilon=epsilon), beside, source)


def matrix(directory: Path, rows: list[list[float]], name: str = "moves.json") -> Path:
    path = directory / name
    path.write_bytes(orjson.dumps(rows))
    return path


def documents(capsys: pytest.CaptureFixture[str], *files: PipelineFile, **options: Any) -> Any:
    explain(list(files), as_json=True, **options)
    return orjson.loads(capsys.readouterr().out)["joint"]


def in_words(capsys: pytest.CaptureFixture[str], *files: PipelineFile, **options: Any) -> str:
    explain(list(files), **options)
    return " ".join(capsys.readouterr().out.split())


def test_parallel_releases_leak_by_one_recursion_and_more_than_both_leakages_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = grr(tmp_path, "zones"), grr(tmp_path, "moods", source="moods.raw")
    known: dict[str, Any] = {"topology": "parallel", "matrix": matrix(tmp_path, A)}
    [joint] = documents(capsys, *files, **known)
    assert (joint["first"], joint["second"], joint["topology"]) == ("zones", "moods", "parallel")
    assert joint["per_value"] == pytest.approx([1.0, 1.0, 2.0])
    (ten, one, other, both), _ = joint["after"]
    assert ten == 10
    assert one == other == pytest.approx(max(TemporalCorrelation.of(A).over([1.0] * 10).total))
    assert both == pytest.approx(max(TemporalCorrelation.of(A).over([2.0] * 10).total))
    assert joint["limit"] == [None, None, None]
    said = in_words(capsys, *files, **known)
    assert "About the same people, parallel: nats about one value" in said
    assert "The sum of what each leaks alone is no bound" in said


@pytest.mark.parametrize(
    ("topology", "per_value", "joined"),
    [
        ("serial", in_series(1.0, 0.5), None),
        ("disjoint", 1.0, max),
        ("independent", 1.5, lambda a, b: a + b),
    ],
)
def test_other_topologies_say_what_counts(
    topology: str,
    per_value: float,
    joined: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = grr(tmp_path, "zones"), grr(tmp_path, "moods", 0.5)
    [joint] = documents(capsys, *files, topology=topology, matrix=matrix(tmp_path, C))
    assert joint["per_value"][2] == pytest.approx(per_value)
    one, other, both = joint["limit"]
    if joined is None:
        assert both == pytest.approx(TemporalCorrelation.of(C).limit(per_value), abs=1e-4)
        assert both < min(one, other)
    else:
        assert both == pytest.approx(joined(one, other), rel=1e-9)


def test_what_is_read_of_a_pipeline_that_repeats_is_bounded_by_that_pipeline_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    once, again = (
        written(
            tmp_path,
            name,
            f"{GRR.format(epsilon=1)}budget: {{total: 1, when_exhausted: {then}}}\n",
        )
        for name, then in (("once", "suppress"), ("again", "repeat"))
    )
    reader = grr(tmp_path, "reader", 0.1)
    known: dict[str, Any] = {"topology": "serial", "matrix": matrix(tmp_path, FAIR)}
    [joint] = documents(capsys, again, reader, **known)
    assert (joint["memoryless"], joint["per_value"][2]) == (False, joint["per_value"][0])
    assert joint["limit"][2] == joint["limit"][0] == pytest.approx(1.0)
    assert "reader perturbs every copy anew" in in_words(capsys, again, reader, **known)
    [joint] = documents(capsys, once, reader, **known)
    assert joint["memoryless"] is True
    assert joint["per_value"][2] == pytest.approx(in_series(1.0, 0.1), rel=1e-6)
    assert "both perturb it" in in_words(capsys, once, reader, **known)


@pytest.mark.parametrize("topology", ["parallel", "serial"])
def test_a_backward_matrix_that_one_declares_counts_for_both_in_either_order(
    topology: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = f", backward: {SLOW}"
    a, b, c = (
        grr(tmp_path, name, beside=BESIDE.format(transition=TURNING, backward=backward))
        for name, backward in (("a", ""), ("b", slow), ("c", f", backward: {FAIR}"))
    )
    [one], [other] = (documents(capsys, *pair, topology=topology) for pair in ((a, b), (b, a)))
    for figure in ("after", "limit"):
        assert one[figure] == other[figure]
    nats = one["per_value"][2]
    told = TemporalCorrelation.of(TURNING, SLOW)
    assert one["limit"][2] == pytest.approx(told.limit(nats))
    assert told.limit(nats) > 1.5 * TemporalCorrelation.of(TURNING).limit(nats)
    [refused] = documents(capsys, b, c, topology=topology)
    assert refused["limit"] is None
    assert "both declare a backward matrix of their own" in refused["why_not"]


@pytest.mark.parametrize("topology", ["disjoint", "independent"])
def test_a_matrix_that_one_declares_is_known_of_the_other_in_either_order(
    topology: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    declared = BESIDE.format(transition=TURNING, backward="")
    files = grr(tmp_path, "a", beside=declared), grr(tmp_path, "b")
    [one] = documents(capsys, *files, topology=topology)
    [other] = documents(capsys, *reversed(files), topology=topology)
    assert one["limit"] == other["limit"] is not None


def test_pipelines_that_both_claim_to_be_read_by_the_other_are_told_both_ways(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = (
        grr(tmp_path, name, beside=f", beside: {{pipelines: {{{other}: serial}}}}")
        for name, other in (("a", "b"), ("b", "a"))
    )
    joints = documents(capsys, *files)
    assert [(one["first"], one["second"]) for one in joints] == [("a", "b"), ("b", "a")]


def test_independent_attributes_may_have_a_matrix_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = grr(tmp_path, "zones"), grr(tmp_path, "moods")
    other = matrix(tmp_path, C, "other.json")
    given: dict[str, Any] = {"matrix": matrix(tmp_path, A), "beside_matrix": other}
    [joint] = documents(capsys, *files, topology="independent", **given)
    alone = [max(TemporalCorrelation.of(rows).over([1.0] * 10).total) for rows in (A, C)]
    assert joint["after"][0][1:] == pytest.approx([*alone, sum(alone)])
    with pytest.raises(ConfigurationError, match="both releases are about one value"):
        explain(list(files), topology="parallel", **given)


def test_files_may_declare_how_they_are_connected_and_a_window_bounds_what_its_ticks_tell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A local and a central release: noise for presence counts twice under a change of value."""
    beside = f", beside: {{pipelines: {{counts: parallel}}, correlation: {{transition: {SLOW}}}}}"
    files = grr(tmp_path, "zones", 0.5, beside), written(tmp_path, "counts", COUNTS)
    [joint] = documents(capsys, *files)
    assert joint["per_value"] == pytest.approx([0.5, 2 * (1 / 16 + 1 / 4), 1.125], abs=1e-6)
    assert joint["limit"][1] < 0.99 * TemporalCorrelation.of(SLOW).limit(0.625)
    assert joint["limit"][2] > joint["limit"][0]
    assert documents(capsys, *reversed(files))[0]["limit"] == joint["limit"], "declared by zones"
    assert "About the same people" not in in_words(capsys, grr(tmp_path, "alone"), files[1])


def test_without_a_matrix_or_a_figure_it_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = grr(tmp_path, "zones"), grr(tmp_path, "moods")
    said = in_words(capsys, *files, topology="parallel")
    assert "its own, to anybody" in said
    assert "give --matrix, or declare ledger.beside.correlation" in said
    other_width = COUNTS.replace("5m", "6m")
    counts = written(tmp_path, "counts", COUNTS), written(tmp_path, "longer", other_width)
    said = in_words(capsys, *counts, topology="disjoint", matrix=matrix(tmp_path, C))
    assert "ticks of counts take 300000 ms and those of longer 360000 ms" in said


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"matrix": "moves.json"}, "--matrix: says nothing without --topology"),
        ({"topology": "parallel"}, "connects two pipelines, not 1"),
    ],
)
def test_options_that_would_have_no_effect_are_refused(
    options: dict[str, Any], says: str, tmp_path: Path
) -> None:
    matrix(tmp_path, C)
    given = {name: tmp_path / one if name == "matrix" else one for name, one in options.items()}
    with pytest.raises(ConfigurationError, match=says):
        explain([grr(tmp_path, "zones")], **given)


@pytest.mark.parametrize(
    ("beside", "says"),
    [
        ("pipelines: {counts: both}", "ledger.beside.pipelines: input should be 'parallel'"),
        ("pipelines: {}", "ledger.beside.pipelines: dictionary should have at least 1 item"),
        (
            "pipelines: {counts: parallel}, correlation: {transition: [[0.5, 0.6], [0, 1]]}",
            "row 0",
        ),
        (
            "pipelines: {counts: parallel}, correlation: {transition: [[1.0]], at_most: 1.0}",
            "bounds nothing here",
        ),
    ],
)
def test_a_declaration_that_cannot_be_is_refused(beside: str, says: str, tmp_path: Path) -> None:
    ledger = f"ledger:\n  topic: promises\n  beside: {{{beside}}}\n"
    error = read_error(tmp_path, PIPELINE.replace("sink:", f"{ledger}sink:", 1))
    assert says in error
    assert error.startswith("pipeline.yaml:"), "with its line"
