"""A pipeline file that asks for randomized response, and what it may not say."""

from pathlib import Path

import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.explain import explain
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.records.symbols import PlainSymbols, SymbolSets
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.responses.optimized_unary_encoding import OptimizedUnaryEncoding
from tests.dataflows.pipeline.pipeline_files import PIPELINE, read, read_error

CRR = PIPELINE[PIPELINE.index("operator:") : PIPELINE.index("sink:")]
GRR = """\
operator:
  kind: grr
  alphabet: [rest, light, vigorous]
  epsilon: 0.5
"""
OUE = GRR.replace("grr", "oue")
EXAMPLES = Path(__file__).parents[3] / "deploy" / "examples"


def pipeline(operator: str, old: str = "", new: str = "") -> str:
    return PIPELINE.replace(CRR, operator.replace(old, new) if old else operator)


def test_grr_releases_symbols(tmp_path: Path) -> None:
    configured = configure(read(tmp_path, pipeline(GRR)))
    assert isinstance(configured.mechanism, GeneralizedRandomizedResponse)
    assert (configured.mechanism.symbols, configured.mechanism.epsilon) == (3, 0.5)
    assert isinstance(configured.codec.domain, PlainSymbols)


@pytest.mark.parametrize(
    ("added", "output", "form"),
    [
        ("", "bits", SymbolSets),
        ("  output: bits\n", "bits", SymbolSets),
        ("  output: symbol\n", "symbol", PlainSymbols),
    ],
)
def test_oue_releases_sets_unless_a_symbol_is_asked_for(
    added: str, output: str, form: type, tmp_path: Path
) -> None:
    configured = configure(read(tmp_path, pipeline(OUE + added)))
    assert isinstance(configured.mechanism, OptimizedUnaryEncoding)
    assert (configured.mechanism.symbols, configured.mechanism.output) == (3, output)
    assert type(configured.codec.domain) is form


def test_unknown_symbols_may_become_a_declared_one(tmp_path: Path) -> None:
    configured = configure(read(tmp_path, pipeline(GRR + "  other: light\n")))
    assert configured.codec.domain.read({"zone": "unheard of"}) == 1


@pytest.mark.parametrize(
    ("operator", "old", "new", "line", "says"),
    [
        (GRR, "[rest, light, vigorous]", "[rest]", 5, "alphabet must list two symbols or more"),
        (OUE, "[rest, light, vigorous]", "[rest]", 5, "alphabet must list two symbols or more"),
        (GRR, "[rest, light, vigorous]", "[on, rest]", 7, "put quotes around it"),
        (OUE, "epsilon: 0.5", "epsilon: 51", 8, "at most 50"),
        (GRR, "epsilon: 0.5", "epsilon: 0", 8, "more than 0"),
        (GRR, "epsilon: 0.5", "epsilon: 1\n  other: walk", 5, "other must be one of the alphabet"),
        (GRR, "epsilon: 0.5", "epsilon: 1\n  output: bits", 5, "output is for kind: oue only"),
        (OUE, "epsilon: 0.5", "epsilon: 1\n  output: both", 9, "operator.output: "),
        (GRR, "epsilon: 0.5", "epsilon: 1\n  model: m.json", 9, "operator.model: unknown key"),
    ],
)
def test_an_error_names_the_line_and_what_to_write(
    operator: str, old: str, new: str, line: int, says: str, tmp_path: Path
) -> None:
    error = read_error(tmp_path, pipeline(operator, old, new))
    assert error.startswith(f"pipeline.yaml:{line}: ")
    assert says in error


def test_an_epsilon_that_words_cannot_tell_apart_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="epsilon: 1e-20 nats is below"):
        configure(read(tmp_path, pipeline(GRR, "epsilon: 0.5", "epsilon: 1.0e-20")))


@pytest.mark.parametrize(
    ("operator", "says"),
    [(GRR, "a released symbol is the true one"), (OUE, "a release is a set: the true symbol")],
)
def test_an_explanation_says_how_to_read_the_output(
    operator: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    explain([read(tmp_path, pipeline(operator))], as_json=False)
    said = " ".join(capsys.readouterr().out.split())
    assert "Local Differential Privacy with epsilon 0.5 nats per release" in said
    assert says in said
    assert "undo the bias" in said


@pytest.mark.parametrize("name", ["moods", "stations"])
def test_an_example_configures_a_mechanism(name: str) -> None:
    assert configure(PipelineFile.read(EXAMPLES / f"{name}.yaml")).mechanism.guarantees()
