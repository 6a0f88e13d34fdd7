"""Compile what a pipeline needs before its first record waits for it; no Kafka is asked."""

import numpy as np

from fugu.dataflows.flows.sections import is_merged, stage_of
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kafka.connection import Connection
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.guarantee_data import guarantee_id
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.publishing.envelope import Pseudonyms, Publisher
from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.json_fields import WORTH_JSON_WRITING
from fugu.dataflows.records.numbers import Numbers
from fugu.dataflows.stages.stage import Admission, StreamStage
from fugu.operators.anonymity.anonymization import Anonymization
from fugu.operators.anonymity.knowledge import Record, Table
from fugu.operators.anonymity.suppression import Taxonomy
from fugu.operators.anonymity.windows import AnonymizedWindows
from fugu.operators.budget import without_budget
from fugu.operators.keys import Keys
from fugu.operators.mechanism import Array, Releases
from fugu.operators.randomness import SECRET_BYTES, WORTH_HASHING, DrawScope, Secret
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.batches.symbol_by_symbol import MOST_COMPARED

_MADE_UP = Secret(bytes(SECRET_BYTES))


def warm_up(stage: StreamStage, codec: Codec, publisher: Publisher) -> None:
    """Compile what releases records of single streams, and what makes Kafka records of them."""
    made = stage.warm_up(_made_up(stage, codec))
    if made is not None and made.keys:
        publisher.releases(made)
        codec.encode(_many(made.releases))


def warm_up_without_kafka(file: PipelineFile) -> None:
    """Compile what a pipeline reads and releases with, and what its client is made of.

    No secret and no password is read: where an image is built, there is none.
    """
    configured, pipeline, keys = configure(file), file.pipeline, Keys.from_root(_MADE_UP)
    mechanism, codec = configured.mechanism, configured.codec
    client_of(Connection(pipeline.kafka.bootstrap, client=pipeline.kafka.client))
    codec.warm_up()
    if isinstance(mechanism, AnonymizedWindows):
        warm_up_windows()
    if is_merged(pipeline):
        return
    law = mechanism.law_digest()
    scope = DrawScope(keys.noise, pipeline.name, mechanism.kind, pipeline.version, law, 0)
    admission = Admission("murmur2", 1, pipeline.state.max_keys)
    stage = stage_of(pipeline, mechanism, scope, "", admission)
    publisher = Publisher(
        codec=codec,
        scope=scope,
        source="",
        source_topic=pipeline.source.topic,
        guarantee_id=guarantee_id(mechanism.guarantees()),
        key_policy=pipeline.sink.key,
        pseudonyms=Pseudonyms(keys.pseudonyms, pipeline.sink.topic),
    )
    warm_up(stage, codec, publisher)


def warm_up_windows() -> None:
    """Compile what anonymises windows, and what attacks them."""
    taxonomy = Taxonomy.from_tree({"all": ["one", "other"]})
    rows = [Record(who, (1, 2 + who % 2), 1 + who % 2) for who in range(8)]
    for linked in (False, True):
        Anonymization(taxonomy, 2, 2, 2, linked=linked).anonymize(Table.of(rows), None)


def _made_up(stage: StreamStage, codec: Codec) -> Array:
    """Return the first symbol, or zero, for some streams, as often as one has to be released;
    nothing where values are neither, or where each stream takes a second."""
    inside, domain, records = without_budget(stage.mechanism), codec.domain, 1
    if isinstance(inside, BatchedRelease):
        records = inside.window if inside.model.symbols <= MOST_COMPARED else 0
    count = WORTH_HASHING * records if isinstance(domain, (Alphabet, Numbers)) else 0
    return np.zeros(count, dtype=domain.dtype)


def _many(releases: Releases) -> Releases:
    """Return the same releases, as often as they are written in one call."""
    index = np.arange(WORTH_JSON_WRITING) % len(releases.values)
    notes = {name: note[index] for name, note in releases.annotations.items()}
    kinds = None if releases.kinds is None else releases.kinds[index]
    return Releases(releases.values[index], notes, kinds)
