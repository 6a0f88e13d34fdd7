"""The sanitized topics that the notebooks read, small, and the same in every run.

Each is made from the records and the pipeline file of an example, in memory, by the code that
`fugu run` runs, and written as `fugu export` writes it. The secret and the times are fixed. A real
secret is random and stays where the pipeline is. The truth is here too, because only a made-up
example knows it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import yaml

from examples.city.people import ZONES, People
from examples.clickstream.site import Click, Site
from examples.heart_rate.watches import Watches
from fugu.dataflows.analysis.collected import COLLECTED, collected_batch
from fugu.dataflows.analysis.exported import write_days
from fugu.dataflows.analysis.reading import decoded_records
from fugu.dataflows.base.batches import Batch, Outgoing
from fugu.dataflows.files.model_writing import written
from fugu.dataflows.flows.merging import outgoing
from fugu.dataflows.flows.sections import aggregate_of
from fugu.dataflows.offline.demo.raw_records import RawRecord
from fugu.dataflows.offline.evaluation.run import scope_of
from fugu.dataflows.offline.in_memory import InMemory
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.guarantee_data import guarantee_id
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.publishing.envelope import Pseudonyms, Publisher
from fugu.dataflows.publishing.promise import promise_of
from fugu.dataflows.stages.merging import Merging
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Floats
from fugu.operators.randomness import Secret
from fugu.operators.sip.learning import Counts, learned

BEGIN = 1_795_392_000_000
"""The first millisecond of 23 November 2026, UTC."""
SITE, PEOPLE, WATCHES = Site(pages=20), People(1_000), Watches(12)
_VISITORS, _OTHER_VISITORS = 600, 3_000
_SECRET = Secret(bytes(range(32)))
_EXAMPLES = Path(__file__).parents[1]


def clickstream(folder: Path) -> Path:
    """Write what is released of the clicks on a small site, and return where."""
    (folder / "pages.model.json").write_bytes(_model_of_other_visitors())
    declared = {"alphabet": SITE.names, "epsilon": 2.0, "mode": "full_support"}
    file = _pipeline("clickstream", folder, declared)
    return _written(file, _of_streams(file, _raw_clicks()), folder)


def city(folder: Path) -> Path:
    """Write how many people were in each zone of a city, with noise, and return where."""
    file = _pipeline("city", folder, {})
    return _written(file, _of_figures(file, PEOPLE.raw(BEGIN)), folder)


def heart_rate(folder: Path) -> Path:
    """Write a day of heart rates, displaced in time, and return where."""
    file = _pipeline("heart_rate", folder, {})
    return _written(file, _of_streams(file, WATCHES.raw(BEGIN)), folder)


def true_shares() -> Mapping[str, float]:
    """Return the share of each page among the clicks."""
    pages = [click.page for click in _clicks()]
    counts = np.bincount(pages, minlength=SITE.pages)
    return dict(zip(SITE.names, (counts / len(pages)).tolist(), strict=True))


def true_counts() -> Mapping[str, Floats]:
    """Return how many people were in each zone, quarter of an hour by quarter of an hour."""
    return dict(zip(ZONES, PEOPLE.counts().T.astype(np.float64), strict=True))


def true_heart_rates() -> Mapping[str, Floats]:
    """Return what each watch measured in every minute; not a number where it was off."""
    names = [name.decode() for name in WATCHES.names()]
    return dict(zip(names, WATCHES.bpm, strict=True))


def _pipeline(example: str, folder: Path, declared: Mapping[str, Any]) -> PipelineFile:
    """Read the pipeline file of an example, whose operator is declared otherwise in some keys."""
    document = yaml.safe_load((_EXAMPLES / example / "pipeline.yaml").read_text())
    document["operator"] |= declared
    path = folder / "pipeline.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return PipelineFile.read(path)


def _clicks() -> list[Click]:
    return SITE.clicks(_VISITORS, seed=2)


def _raw_clicks() -> Iterator[RawRecord]:
    for click in _clicks():
        value = orjson.dumps({"page": SITE.names[click.page]})
        yield b"visitor-%05d" % click.visitor, value, BEGIN + click.milliseconds


def _model_of_other_visitors() -> bytes:
    """Count public history, as `fugu model learn` does."""
    clicks = SITE.clicks(_OTHER_VISITORS, seed=3)
    visitors, pages = np.array([(click.visitor, click.page) for click in clicks]).T
    return written(
        learned(Counts.of(visitors, pages, SITE.pages), alpha=1.0 / SITE.pages),
        SITE.names,
        sparse=False,
        smoothing=0.0,
        source="clicks of other visitors of the same site",
        date="2026-11-01",
        description="",
    )


def _of_streams(file: PipelineFile, records: Iterable[RawRecord]) -> Outgoing:
    """Return what the pipeline publishes of the records or ticks of single streams."""
    keys, values, times = zip(*records, strict=True)
    memory = InMemory.of(file.pipeline, configure(file), _SECRET)
    memory.publisher = replace(memory.publisher, key_policy=file.pipeline.sink.key)
    return memory.feed(keys, values, times)


def _of_figures(file: PipelineFile, records: Iterable[RawRecord]) -> Outgoing:
    """Return the figures that the pipeline publishes: sums of one partition, merged and noisy."""
    pipeline, configured = file.pipeline, configure(file)
    mechanism, source, operator = (
        configured.mechanism,
        pipeline.source.topic,
        aggregate_of(pipeline),
    )
    assert operator is not None
    admission = Admission("unchecked", partitions=1, max_keys=pipeline.state.max_keys)
    summing = operator.summing(operator.in_ticks(), admission)
    keys, values, times = zip(*records, strict=True)
    raw = Batch(0, range(len(keys)), times, keys, values, [[] for _ in keys])
    sums = summing(configured.codec.decode(raw), RowTable(summing.start)).partials
    scope = scope_of(pipeline, mechanism.kind, mechanism, _SECRET)
    merge = Merging(mechanism, scope, source, 1, operator.group_count)
    state = merge.start()
    ticks = [released for partial in sums for released in merge.with_plan(state, partial)]
    publisher = Publisher(
        configured.codec,
        scope,
        source,
        source,
        guarantee_id(mechanism.guarantees()),
        pipeline.sink.key,
        Pseudonyms(_SECRET, pipeline.sink.topic),
    )
    return outgoing(ticks, operator.in_ticks(), operator.figures(), publisher)


def _written(file: PipelineFile, out: Outgoing, folder: Path) -> Path:
    """Write releases to Parquet, with the promise, and return the folder."""
    promise, count = promise_of(file, configure(file).mechanism), len(out.values)
    batch = Batch(0, range(count), out.timestamps, out.keys, out.values, out.headers)
    collected = pa.Table.from_batches([collected_batch(batch)], COLLECTED)
    exported = folder / "exported"
    write_days(decoded_records(collected, [promise]), [promise], 0, exported, 0, count)
    return exported
