"""Every kind of operator that a file adds: its example runs, and the README lists it."""

from pathlib import Path

import numpy as np
import orjson
import pytest
import yaml

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.kinds import markdown, rows, show_kinds
from fugu.dataflows.flows.sections import numbers_of
from fugu.dataflows.kinds import KINDS, AggregateOperator
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import columns_of, configure
from fugu.dataflows.pipeline.source_budget import Promises, budgeted
from fugu.dataflows.pipeline.source_section import DeclaredBudget
from fugu.operators.mechanism import Inputs
from fugu.operators.randomness import DrawScope, Secret, record_positions
from tests.dataflows.kinds.example_files import ROOT, example_of


@pytest.mark.parametrize("kind", KINDS)
def test_its_example_builds_a_mechanism_that_releases_something(kind: str, tmp_path: Path) -> None:
    file = example_of(kind, tmp_path)
    section, mechanism = file.pipeline.operator, configure(file).mechanism
    assert type(section) is KINDS[kind]
    assert kind == "temporal_perturbation" or mechanism.kind == kind
    values = np.array([1])
    if isinstance(section, AggregateOperator):
        values = np.ones((1, numbers_of(section, mechanism)), dtype=np.int64)
    if section.stage.name == "DISPLACED":
        values = np.array([b"60"], dtype=object)
    if section.stage.name == "WINDOW":
        values = np.array([None], dtype=object)
    scope = DrawScope(Secret(bytes(32)), "test", kind, 1, mechanism.law_digest())
    state = mechanism.start(1)
    for offset in range(12):
        draws = scope.draws([b"ada"], record_positions("source", 0, [offset]))
        state, releases = mechanism.step(state, Inputs(values), draws)
    assert len(releases.values) == 1
    assert columns_of(file.pipeline, mechanism)(1)
    assert section.parameters()
    assert section.how_to_read()


@pytest.mark.parametrize("kind", KINDS)
def test_a_budget_of_the_source_may_be_declared_where_it_can_be_compared(
    kind: str, tmp_path: Path
) -> None:
    file = example_of(kind, tmp_path)
    promises = Promises("one", configure(file).mechanism.guarantees())
    assert file.pipeline.operator.source_budget == (budgeted([promises]).total is not None)


@pytest.mark.parametrize("kind", ["uniform", "real_time", "unicorn", "threshold_perturbation"])
@pytest.mark.parametrize("budget", [5, 0.5, {"epsilon": 5, "delta": 1e-5}], ids=str)
def test_a_budget_of_the_source_is_a_number_or_epsilon_and_delta(
    kind: str, budget: float | dict[str, float], tmp_path: Path
) -> None:
    example_of(kind, tmp_path)
    path = tmp_path / "pipeline.yaml"
    document = yaml.safe_load(path.read_text())
    document["source"]["budget"] = budget
    path.write_text(yaml.safe_dump(document))
    if not KINDS[kind].source_budget:
        with pytest.raises(ConfigurationError, match=r"source\.budget: counts epsilon and delta"):
            PipelineFile.read(path)
        return
    declared = PipelineFile.read(path).pipeline.source.declared_budget
    figures = budget.values() if isinstance(budget, dict) else (budget,)
    expected = DeclaredBudget(*figures)
    assert declared == expected


def test_a_kind_is_a_file_of_its_name_and_says_what_it_does_in_a_line() -> None:
    for kind, does, protected in rows():
        assert KINDS[kind].__module__.endswith(f".{kind}")
        assert does[0].isupper()
        assert protected


def test_the_table_of_the_readme_is_that_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    readme = (ROOT / "README.md").read_text()
    assert readme.split("<!-- kinds -->\n")[1].split("<!-- end of kinds -->")[0] == markdown()
    show_kinds(as_json=True, as_markdown=False)
    assert [entry["kind"] for entry in orjson.loads(capsys.readouterr().out)] == list(KINDS)
