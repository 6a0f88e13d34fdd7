"""Batch boundaries never show: the same input, cut differently, gives the same bytes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.dataflows.files.sparse_models import SPARSE
from tests.dataflows.pipeline.pipeline_files import configured
from tests.dataflows.stages import batching
from tests.dataflows.stages.batching import HOT_KEY, Everything, everything, stream

MODELS = {
    "sparse": SPARSE | {"transition": SPARSE["transition"][:3]},
    "second order": SPARSE,
}
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def reference() -> Everything:
    return everything(stream(), batching.RECORDS)


def test_the_input_is_worth_cutting() -> None:
    counts = batching.occurrences(stream())
    assert len(counts) > 50
    assert counts[HOT_KEY] > len(stream()) / 4, "one key is hot"


@pytest.mark.parametrize(("batch_size", "records"), [(1, 300), (7, 1200), (1000, 1200)])
def test_batches_of_any_size_give_identical_bytes(batch_size: int, records: int) -> None:
    messages = stream()[:records]
    releases, dead_letters, state = everything(messages, batch_size)
    whole = everything(messages, records)
    assert releases == whole[0]
    assert dead_letters == whole[1]
    assert state == whole[2]


@pytest.mark.parametrize("name", MODELS)
def test_chains_of_every_kind_come_out_the_same_for_every_batch_size(
    name: str, tmp_path: Path
) -> None:
    """From the model file to the published bytes."""
    mechanism = configured(tmp_path, MODELS[name]).mechanism
    messages = stream()[:300]
    whole = everything(messages, 300, mechanism=mechanism)
    assert everything(messages, 7, mechanism=mechanism) == whole
    assert everything(messages, 100, encode_between=True, mechanism=mechanism) == whole
    assert len({value for _, value, *_ in whole[0]}) > 50


def test_writing_and_reading_the_state_between_batches_changes_nothing(
    reference: Everything,
) -> None:
    assert everything(stream(), 100, encode_between=True) == reference


def test_numpy_without_cpu_features_gives_identical_bytes(reference: Everything) -> None:
    features = batching.enabled_cpu_features()
    ended = subprocess.run(
        [sys.executable, "-m", "tests.dataflows.stages.batching"],
        cwd=ROOT,
        env={**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(features)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.splitlines() == ["[]", batching.digest(reference)]
