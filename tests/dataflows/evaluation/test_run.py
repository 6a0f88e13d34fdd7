"""An evaluated release is the release of the live path: the same bytes for the same secret."""

from pathlib import Path

import numpy as np
import orjson
import pytest

from dataflows.admission import Admission
from dataflows.batches import Batch, Reason
from dataflows.evaluation.candidates import Candidate, candidates
from dataflows.evaluation.run import Run, released, secret_of
from dataflows.evaluation.sample import Sample
from dataflows.lift import Lift, exhaustible
from dataflows.mechanisms import configure, deduplication_of
from dataflows.pipeline_file import PipelineFile
from dataflows.publish import Pseudonyms, Publisher
from dataflows.state.row_table import RowTable
from operators.mechanism import Kind, Releases
from operators.randomness import DrawScope, Secret
from tests.dataflows.batching import stream
from tests.dataflows.evaluation.samples import pipeline
from tests.dataflows.pipeline_files import PIPELINE

RECORDS = 100
DEDUPE = ("  value: zone", "  value: zone\n  dedupe: {field: id, remember: 3}")
BUDGET = "budget: {total: 6.5}\n"
SUPPRESSING = "budget: {total: 3, window: 5, when_exhausted: suppress}\n"


def messages() -> list[tuple[bytes, dict[str, object]]]:
    """Key and value of records of many users, one of them hot; some are sent twice, some bad."""
    found = []
    for number, (key, value) in enumerate(stream()[:RECORDS]):
        assert key is not None
        found.append((key, {**orjson.loads(value or b""), "id": number - (number % 5 == 1)}))
    return found


@pytest.fixture
def sample_path(tmp_path: Path) -> Path:
    path = tmp_path / "sample.jsonl"
    lines = [orjson.dumps({"key": key.decode(), **value}) for key, value in messages()]
    path.write_bytes(b"\n".join(lines))
    return path


def read(directory: Path, path: Path, text: str) -> tuple[PipelineFile, Candidate, Sample]:
    file = pipeline(directory, text)
    [candidate] = candidates(file, [1.0], [])
    return file, candidate, Sample.read(path, "key", configure(file).codec)


def live(file: PipelineFile, secret: Secret) -> tuple[list[int], list[bytes], list[Reason]]:
    """Offsets and values that the pipeline publishes, and reasons of what it refuses."""
    configured, section = configure(file), file.pipeline
    scope = DrawScope(
        secret, section.name, "crr", section.version, configured.mechanism.law_digest()
    )
    everybody = Admission("unchecked", 1, max_keys=1_000)
    topic, remembered = section.source.topic, deduplication_of(section)
    lift = Lift(configured.mechanism, scope, topic, everybody, remembered)
    records = messages()
    batch = Batch(
        partition=0,
        offsets=list(range(1, RECORDS + 1)),
        timestamps=[0] * RECORDS,
        keys=[key for key, _ in records],
        values=[orjson.dumps(value) for _, value in records],
        headers=[[] for _ in records],
    )
    sanitized = lift(
        configured.codec.decode(batch), RowTable(lift.start, exhaustible(configured.mechanism))
    )
    pseudonyms = Pseudonyms(secret.derive("pseudonyms"), section.sink.topic)
    publisher = Publisher(configured.codec, scope, topic, topic, b"id", "pseudonym", pseudonyms)
    outgoing = publisher.releases(sanitized)
    return outgoing.positions, outgoing.values, sanitized.dead.reasons


def published(run: Run, file: PipelineFile, sample: Sample) -> tuple[list[int], list[bytes]]:
    shown = run.kinds != Kind.SUPPRESSED
    notes = {name: note[shown] for name, note in run.releases.annotations.items()}
    releases = Releases(run.releases.values[shown], notes, run.kinds[shown])
    offsets = np.array(sample.decoded.offsets)[run.records[shown]]
    return offsets.tolist(), configure(file).codec.encode(releases)


@pytest.mark.parametrize("budget", ["", BUDGET, SUPPRESSING])
def test_releases_are_those_of_the_live_path(
    budget: str, tmp_path: Path, sample_path: Path
) -> None:
    file, candidate, sample = read(tmp_path, sample_path, PIPELINE.replace(*DEDUPE) + budget)
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
