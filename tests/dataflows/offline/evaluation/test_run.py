"""An evaluated release is the release of the live path: the same bytes for the same secret."""

from pathlib import Path

import numpy as np
import pytest

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.records.grid import candidates
from fugu.dataflows.offline.evaluation.run import Run, released, secret_of
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.operators.mechanism import Kind
from tests.dataflows.offline.evaluation.live import OPERATORS, RECORDS, live, sample_in
from tests.dataflows.offline.evaluation.samples import pipeline
from tests.dataflows.pipeline.pipeline_files import PIPELINE

DEDUPE = ("  value: zone", "  value: zone\n  dedupe: {field: id, remember: 3}")
BUDGET = "budget: {total: 6.5}\n"
SUPPRESSING = "budget: {total: 3.5, window: 5, when_exhausted: suppress}\n"


@pytest.fixture
def sample_path(tmp_path: Path) -> Path:
    return sample_in(tmp_path)


def read(directory: Path, path: Path, text: str) -> tuple[PipelineFile, Candidate, Sample]:
    file = pipeline(directory, text)
    [candidate] = candidates(file, [file.pipeline.operator.nats_per_record], [])
    return file, candidate, Sample.read(path, "key", configure(file).codec)


def published(run: Run, file: PipelineFile, sample: Sample) -> tuple[list[int], list[bytes]]:
    shown = run.of(run.published)
    offsets = np.array(sample.decoded.offsets)[shown.records]
    return offsets.tolist(), list(configure(file).codec.encode(shown.releases))


@pytest.mark.parametrize("kind", OPERATORS)
@pytest.mark.parametrize("budget", ["", BUDGET, SUPPRESSING])
def test_releases_are_those_of_the_live_path(
    budget: str, kind: str, tmp_path: Path, sample_path: Path
) -> None:
    text = OPERATORS[kind].replace(*DEDUPE) + budget
    file, candidate, sample = read(tmp_path, sample_path, text)
    secret = secret_of(seed=3, run=1)
    run = released(candidate, file.pipeline, sample, secret)
    offsets, values, reasons = live(file, secret)
    assert published(run, file, sample) == (offsets, values)
    assert Reason.DUPLICATE in reasons
    refused = [*run.dead.reasons, *sample.decoded.dead.reasons]
    assert sorted(refused) == sorted(reasons)
    if budget:
        assert set(run.kinds.tolist()) > {Kind.FRESH}


@pytest.mark.parametrize("budget", ["", BUDGET, SUPPRESSING])
def test_how_the_sample_is_cut_never_shows(budget: str, tmp_path: Path, sample_path: Path) -> None:
    file, candidate, sample = read(tmp_path, sample_path, PIPELINE.replace(*DEDUPE) + budget)
    done: list[int] = []
    whole, cut = (
        released(candidate, file.pipeline, sample, secret_of(0, 0), done.append, size)
        for size in (RECORDS, 7)
    )
    assert cut.records.tolist() == whole.records.tolist()
    assert cut.kinds.tolist() == whole.kinds.tolist()
    assert cut.releases.values.tolist() == whole.releases.values.tolist()
    assert cut.dead == whole.dead
    assert cut.spent is not None
    assert whole.spent is not None
    assert cut.spent.tolist() == whole.spent.tolist()
    assert sum(done) == 2 * sample.records


def test_every_run_and_every_seed_has_a_secret_of_its_own() -> None:
    secrets = [secret_of(seed, run).check_value() for seed in (0, 1) for run in (0, 1)]
    assert len(set(secrets)) == 4
    assert secret_of(1, 1).check_value() == secrets[-1]
