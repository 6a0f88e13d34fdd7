"""Figures of every way to release symbols are those of its live output, read line by line."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
import pytest

from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.records.grid import candidates
from fugu.dataflows.offline.evaluation.records.symbols import SymbolMeasure, SymbolUtility
from fugu.dataflows.offline.evaluation.run import released, secret_of
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.operators.budget_units import in_nats
from fugu.operators.mechanism import Floats
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.cold_start import ColdStart
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.distances import Ordered
from tests.dataflows.offline.evaluation.live import OPERATORS, live, messages, sample_in
from tests.dataflows.offline.evaluation.samples import pipeline

ZONES = ["rest", "light", "vigorous"]
SECRET = secret_of(seed=7, run=0)
BUDGETS = [
    "",
    "budget: {total: 6.5}\n",
    "budget: {total: 3.5, window: 5}\n",
    "budget: {total: 3.5, window: 5, when_exhausted: suppress}\n",
]


@dataclass(frozen=True)
class Read:
    """A live release: whose it is, which symbols, the true ones of their records, and the rest."""

    key: bytes
    zones: list[int]
    truths: list[int]
    confidence: float | None
    repeated: bool


def evaluated(file: PipelineFile, directory: Path) -> tuple[Candidate, SymbolUtility]:
    [candidate] = candidates(file, [file.pipeline.operator.nats_per_record], [])
    sample = Sample.read(sample_in(directory), "key", configure(file).codec)
    run = released(candidate, file.pipeline, sample, SECRET)
    return candidate, SymbolMeasure(ZONES, Ordered())(candidate, sample, [run])


def accepted() -> Iterator[tuple[int, bytes, int]]:
    """Line, key and true zone."""
    for line, (key, value) in enumerate(messages(), start=1):
        if value["zone"] in ZONES:
            yield line, key, ZONES.index(str(value["zone"]))


def read_live(file: PipelineFile) -> list[Read]:
    """As somebody reads the sanitized topic who knows the true records."""
    offsets, values, _ = live(file, SECRET)
    published = dict(zip(offsets, values, strict=True))
    truths = defaultdict(list)
    found = []
    for line, key, zone in accepted():
        truths[key].append(zone)
        if line not in published:
            continue
        value = orjson.loads(published[line])
        repeated = "repeated" in value
        listed = value["zone"] if isinstance(value["zone"], list) else [value["zone"]]
        zones = [ZONES.index(name) for name in (listed[-1:] if repeated else listed)]
        of_these = truths[key][-len(zones) :]
        found.append(Read(key, zones, of_these, value["confidence"], repeated))
    return found


@pytest.mark.parametrize("kind", OPERATORS)
@pytest.mark.parametrize("budget", BUDGETS)
def test_rates_are_those_of_the_live_output(kind: str, budget: str, tmp_path: Path) -> None:
    file = pipeline(tmp_path, OPERATORS[kind] + budget)
    _, utility = evaluated(file, tmp_path)
    read = read_live(file)
    pairs = [pair for one in read for pair in zip(one.zones, one.truths, strict=True)]
    assert utility.wrong is not None
    assert utility.wrong.value == pytest.approx(np.mean([x != y for x, y in pairs]))
    assert utility.distance is not None
    assert utility.distance.value == pytest.approx(np.mean([abs(x - y) for x, y in pairs]))
    said = [one.confidence for one in read for _ in one.zones if one.confidence is not None]
    assert utility.expected_wrong == pytest.approx(1 - np.mean(said), abs=1e-4)
    assert utility.released is not None
    counts = np.bincount([x for x, _ in pairs], minlength=3)
    assert utility.released.runs[0] == pytest.approx(counts / len(pairs))
    records = len(list(accepted()))
    spending = utility.spending
    repeated = sum(one.repeated for one in read) / records
    assert spending.repeated + spending.still_good == pytest.approx(repeated)
    absent = spending.suppressed + spending.held_back / records
    assert absent == pytest.approx(1 - len(pairs) / records)
    assert (spending.still_good > 0) == (kind == "adaptive_crr")


def test_what_streams_hold_back_in_the_end_is_counted(tmp_path: Path) -> None:
    _, utility = evaluated(pipeline(tmp_path, OPERATORS["batched_crr"]), tmp_path)
    lengths = np.unique([key for _, key, _ in accepted()], return_counts=True)[1]
    assert utility.spending.held_back == (lengths % 3).sum() > 0
    assert utility.spending.suppressed == 0


def analyst(candidate: Candidate, read: list[Read]) -> tuple[Floats, float]:
    """Mean estimate of every symbol, and nats spent per stream, as docs/analysts.md says."""
    mechanism = candidate.mechanism
    states = {one.key: mechanism.start(1) for one in read}
    estimates: list[Floats] = []
    for one in read:
        before, number = states[one.key], np.array(one.zones)
        match mechanism:
            case BatchedRelease():
                states[one.key], posterior = mechanism.observe(before, number[None])
                estimates += list(posterior[0])
            case AdaptiveRelease():
                states[one.key], posterior = mechanism.observe(before, number + 3 * one.repeated)
                estimates.append(posterior[0])
            case ColdStart() if one.confidence is None:
                states[one.key], _ = mechanism.observe(before, number)
                keep = np.e**mechanism.epsilon
                p, q = keep / (keep + 2), 1 / (keep + 2)
                estimates.append((np.eye(3)[number[0]] - q) / (p - q))
            case ColdStart() | ConditionalRandomizedResponse():
                states[one.key], posterior = mechanism.observe(before, number)
                estimates.append(posterior[0])
    spent = [in_nats(int(state["spent"][0])) for state in states.values()]
    return np.mean(estimates, axis=0), sum(spent)


@pytest.mark.parametrize("kind", OPERATORS)
def test_shares_and_spending_are_those_that_an_analyst_computes(kind: str, tmp_path: Path) -> None:
    file = pipeline(tmp_path, OPERATORS[kind])
    candidate, utility = evaluated(file, tmp_path)
    shares, spent = analyst(candidate, read_live(file))
    assert utility.debiased is not None
    assert utility.debiased.runs[0] == pytest.approx(shares)
    assert utility.spending.spent_per_record == pytest.approx(spent / len(list(accepted())))
