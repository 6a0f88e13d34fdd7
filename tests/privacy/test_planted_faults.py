"""Ten mistakes planted in sound mechanisms: each is caught, by a test of the suite or `fugu audit`.

The detectors are the very tests that run over the examples, and the very command: they
fail on the mutant and pass on the original, so that they stay honest. Every seed is fixed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import orjson
import pytest
from typer.testing import CliRunner

from fugu.dataflows.commands.cli.fugu import app
from fugu.dataflows.kinds import laplace
from fugu.dataflows.kinds.crr import CrrOperator
from fugu.dataflows.stages.per_record import PerRecord
from fugu.operators.noise.laplace_release import LaplaceRelease
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from tests.conformance import test_mechanisms as conformance
from tests.conformance.example import Example
from tests.dataflows.pipeline.pipeline_files import MODEL, PIPELINE, with_change
from tests.dataflows.stages import columns
from tests.dataflows.stages import test_per_record as lifting
from tests.operators.noise import test_laplace_release as laplace_release
from tests.privacy import planted_faults

LAPLACE = with_change(
    "  kind: crr\n  alphabet: [rest, light, vigorous]\n  epsilon: 1.0\n  model: model.json\n",
    "  kind: laplace\n  lower: 0\n  upper: 100\n  epsilon: 1.0\n",
)


def fugu_audit_of_symbols(kind: type[ConditionalRandomizedResponse]) -> None:
    """`fugu audit` of a pipeline file whose mechanism is of this class."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CrrOperator, "mechanism_class", kind)
        assert exit_code(PIPELINE) == 0


def fugu_audit_of_numbers(kind: type[LaplaceRelease]) -> None:
    """The same for numbers; nothing is known of these but what is seen."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(laplace, "LaplaceRelease", kind)
        assert exit_code(LAPLACE) == 0


def exit_code(pipeline: str) -> int:
    """Of the command, which is 1 if a claim was seen to break; all else ends in an exception."""
    with TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "model.json").write_bytes(orjson.dumps(MODEL))
        path = directory / "pipeline.yaml"
        path.write_text(pipeline)
        command = ["audit", str(path), "--runs", "4000", "--steps", "2", "--seed", "1"]
        return CliRunner().invoke(app, command, catch_exceptions=False).exit_code


def cutting_into_batches(kind: type[LaplaceRelease]) -> None:
    """The conformance suite."""
    conformance.test_how_input_is_cut_into_batches_never_shows(example(kind), seed=0)


def binding_to_data(kind: type[LaplaceRelease]) -> None:
    """The conformance suite."""
    conformance.test_other_data_at_the_same_position_draw_other_words(example(kind))


def clamping(kind: type[LaplaceRelease]) -> None:
    """Numbers just outside the range are released like its ends."""
    laplace_release.test_values_are_clamped_before_noise(numbers(kind), beyond=1000)


def mean_and_deviation(kind: type[LaplaceRelease]) -> None:
    """Many releases of one number."""
    laplace_release.test_releases_are_unbiased_and_as_noisy_as_epsilon_says(numbers(kind))


def reachable_outputs(kind: type[LaplaceRelease]) -> None:
    """Releases of every number lie on one grid."""
    laplace_release.test_every_release_is_a_point_of_the_public_grid_whatever_the_value(
        numbers(kind)
    )


def charges_of_a_batch(kind: type[PerRecord]) -> None:
    """The ledger of the row table."""
    scope, source, everybody = columns.SCOPE, columns.SOURCE, columns.EVERYBODY
    lifting.test_a_batch_costs_what_its_records_cost_one_by_one(
        kind(columns.CRR, scope, source, everybody)
    )


def charges_of_a_run(kind: type[PerRecord]) -> None:
    """The same, of a mechanism that runs with and without compiled steps."""
    mechanism = GeneralizedRandomizedResponse(4, 1.0)
    lifting.test_a_batch_costs_what_its_records_cost_one_by_one(
        kind(mechanism, columns.SCOPE, columns.SOURCE, columns.EVERYBODY)
    )


def numbers(kind: type[LaplaceRelease]) -> LaplaceRelease:
    return kind(lower=400, upper=2000, epsilon=1.0, units_per_one=10)


def example(kind: type[LaplaceRelease]) -> Example:
    return Example(numbers(kind), np.array([400, 725, 2000, 9999]))


@dataclass(frozen=True)
class Planted:
    """A mistake, what it was planted in, and the test that catches it.

    The detector rejects the original with probability `false_alarm` at most, over all keys.
    """

    fault: str
    original: type[Any]
    mutant: type[Any]
    detector: Callable[[type[Any]], None]
    false_alarm: float = 0.0


CRR = ConditionalRandomizedResponse
PLANTED = [
    Planted(
        "scale off by 2",
        LaplaceRelease,
        planted_faults.ScaleOffByTwo,
        fugu_audit_of_numbers,
        false_alarm=1e-3,
    ),
    Planted(
        "sign always positive",
        LaplaceRelease,
        planted_faults.SignAlwaysPositive,
        mean_and_deviation,
        false_alarm=7e-5,
    ),
    Planted(
        "belief not updated",
        CRR,
        planted_faults.BeliefNotUpdated,
        fugu_audit_of_symbols,
        false_alarm=1e-3,
    ),
    Planted(
        "off-diagonal with the wrong index",
        CRR,
        planted_faults.WrongIndexOffTheDiagonal,
        fugu_audit_of_symbols,
        false_alarm=1e-3,
    ),
    Planted(
        "budget charged once per batch",
        PerRecord,
        planted_faults.ChargedOncePerBatch,
        charges_of_a_batch,
    ),
    Planted(
        "budget charged once per run",
        PerRecord,
        planted_faults.ChargedOncePerRun,
        charges_of_a_run,
    ),
    Planted(
        "noise from the row number",
        LaplaceRelease,
        planted_faults.NoiseFromTheRowNumber,
        cutting_into_batches,
    ),
    Planted(
        "clamp after noise",
        LaplaceRelease,
        planted_faults.ClampAfterNoise,
        clamping,
    ),
    Planted(
        "missing binding",
        LaplaceRelease,
        planted_faults.MissingBinding,
        binding_to_data,
    ),
    Planted(
        "first step free",
        CRR,
        planted_faults.FirstStepFree,
        fugu_audit_of_symbols,
        false_alarm=1e-3,
    ),
    Planted(
        "floating-point noise",
        LaplaceRelease,
        planted_faults.FloatingPointNoise,
        reachable_outputs,
    ),
]


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.fault)
def test_the_mutant_is_caught(planted: Planted) -> None:
    with pytest.raises(AssertionError):
        planted.detector(planted.mutant)


@pytest.mark.parametrize(
    ("original", "detector"),
    dict.fromkeys((planted.original, planted.detector) for planted in PLANTED),
    ids=lambda part: part.__name__,
)
def test_the_original_passes(original: type[Any], detector: Callable[[type[Any]], None]) -> None:
    detector(original)
