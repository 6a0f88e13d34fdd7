"""Batches, codecs, mechanisms and publishers for tests that need no Kafka."""

from collections.abc import Sequence

from fugu.dataflows.base.batches import Batch, Outgoing, Sanitized
from fugu.dataflows.publishing.envelope import KeyPolicy, Pseudonyms, Publisher
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.deduplication import Deduplication
from fugu.dataflows.records.json_fields import FieldTimestamp
from fugu.dataflows.records.symbols import Symbols
from fugu.dataflows.stages.per_record import PerRecord
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Mechanism
from fugu.operators.randomness import DrawScope, Secret
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.markov_model import MarkovModel

ALPHABET = ["rest", "light", "vigorous"]
SOURCE = "topic-id-of-the-source"
SECRET = Secret(bytes(range(32)))
CRR = ConditionalRandomizedResponse(
    MarkovModel.smoothed(
        [0.5, 0.3, 0.2], [[0.8, 0.15, 0.05], [0.2, 0.7, 0.1], [0.0, 0.3, 0.7]], 0.001
    ),
    epsilon=1.0,
)
EVERYBODY = Admission("unchecked", partitions=4, max_keys=1_000_000)
SCOPE = DrawScope(SECRET, "heart-zones", "crr", 1, CRR.law_digest())

Message = tuple[bytes | None, bytes | None]


def codec(
    alphabet: Sequence[str] | Sequence[int] = ALPHABET,
    *,
    other: str | int | None = None,
    timestamp: FieldTimestamp | None = None,
    event: str | None = None,
) -> Codec:
    """Reads the field `zone`."""
    return Codec(Symbols("zone", alphabet, other=other), 1_000_000, timestamp, event)


def batch_of(messages: Sequence[Message], *, first_offset: int = 0) -> Batch:
    """Messages as one fetch of partition 2 returns them; timestamps count from 1000."""
    offsets = list(range(first_offset, first_offset + len(messages)))
    return Batch(
        partition=2,
        offsets=offsets,
        timestamps=[1000 + offset for offset in offsets],
        keys=[key for key, _ in messages],
        values=[value for _, value in messages],
        headers=[[] for _ in messages],
    )


def lift(
    *,
    mechanism: Mechanism = CRR,
    admission: Admission = EVERYBODY,
    deduplication: Deduplication | None = None,
) -> PerRecord:
    """Conditional randomized response over the streams of a partition."""
    return PerRecord(mechanism, SCOPE, SOURCE, admission, deduplication)


def new_table() -> RowTable:
    """A partition without streams."""
    return RowTable(CRR.start)


def publisher(key_policy: KeyPolicy = "pseudonym", *, sink: str = "vitals.sanitized") -> Publisher:
    """Publishes what `lift` releases."""
    return Publisher(
        codec=codec(),
        scope=SCOPE,
        source=SOURCE,
        source_topic="vitals.raw",
        guarantee_id=b"0123456789abcdef",
        key_policy=key_policy,
        pseudonyms=Pseudonyms(SECRET, sink),
    )


def sanitized(messages: Sequence[Message]) -> Sanitized:
    """Return what becomes of messages, from decoding to releases."""
    return lift()(codec().decode(batch_of(messages)), new_table())


def rows_of(outgoing: Outgoing) -> list[tuple[object, ...]]:
    """Outgoing columns, record by record."""
    return list(
        zip(outgoing.keys, outgoing.values, outgoing.headers, outgoing.timestamps, strict=True)
    )
