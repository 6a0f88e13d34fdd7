"""The live path of aggregates over a small stream, to hold what is evaluated against it."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.flows.merging import MergeStep
from fugu.dataflows.offline.evaluation.run import secret_of
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.stages.log_entries import read_entry
from fugu.dataflows.stages.merging import Merging
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.randomness import DrawScope, Secret
from tests.dataflows.offline.evaluation.aggregates.samples import ZONES, Line, line, operator_of

SECRET = secret_of(seed=5, run=1)
WRITTEN = 2 * 10**12
"""When Kafka got all records: later than any of their times."""


def city(users: int, ticks: int) -> list[Line]:
    """Users who move, out of order by up to 400 ms; some are late, far ahead, or nowhere known."""
    random, timed = Random(2), []
    for tick in range(ticks):
        for user in range(users):
            for _ in range(random.choice([0, 1, 1, 1, 2])):
                at = 1_000 * tick + random.randrange(1_000)
                shift = random.choice([0] * 40 + [-4_000, 60_000])
                where = random.choice([*ZONES * 10, "nowhere"])
                amount = round(random.uniform(-1.0, 6.0), 1)
                record = line(f"u{user}", max(0, at + shift), where, amount)
                timed.append((at + random.randrange(400), record))
    return [record for _, record in sorted(timed, key=lambda one: one[0])]


def live(file: PipelineFile, path: Path, secret: Secret) -> Iterator[list[float]]:
    """Return what the steps of the two dataflows release, tick by tick, in batches of seven."""
    pipeline, operator, configured = file.pipeline, operator_of(file), configure(file)
    lines = path.read_bytes().splitlines()
    everybody = Admission("unchecked", 1, pipeline.state.max_keys, covers=operator.covers)
    bounding = operator.summing(operator.in_ticks(), everybody)
    mechanism, table = configured.mechanism, RowTable(bounding.start)
    law = mechanism.law_digest()
    scope = DrawScope(secret, pipeline.name, operator.kind, pipeline.version, law)
    merge = Merging(mechanism, scope, pipeline.source.topic, 1, operator.group_count)
    merging = MergeStep(merge, "log", path.parent, None)
    for start in range(0, len(lines), 7):
        values: list[bytes | None] = [*lines[start : start + 7]]
        offsets = list(range(start + 1, start + 1 + len(values)))
        keys: list[bytes | None] = [(one or b"").split(b'"')[3] for one in values]
        written = [WRITTEN] * len(values)
        batch = Batch(0, offsets, written, keys, values, [[] for _ in values])
        bounded = bounding(configured.codec.decode(batch), table)
        logged = [(0, read_entry(one.encoded(), "log")) for one in bounded.partials]
        [merged], _ = merging.on_batch([logged])
        for _, tick in merged.ticks:
            yield tick.values[0].tolist()
        if merged.plan is not None:
            merging.on_batch([[(0, read_entry(merged.plan.encoded(), "log"))]])
