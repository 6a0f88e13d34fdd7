"""Windows of patients, from records of several partitions to the bytes that are published."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random

import orjson

from fugu.dataflows.base.batches import Batch, Outgoing
from fugu.dataflows.base.ticks import StreamTime, Ticks
from fugu.dataflows.flows.anonymizing import outgoing
from fugu.dataflows.publishing.envelope import Pseudonyms, Publisher
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.json_fields import FieldTimestamp
from fugu.dataflows.records.visits import AnonymousRecords, Visits
from fugu.dataflows.stages.anonymizing import Anonymizing, AnonymizingState, OpenWindows
from fugu.dataflows.stages.log_entries import read_entry
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.stages.windows import AnonymousWindow, Gathering, WindowPeople
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.anonymity.anonymization import Anonymization
from fugu.operators.anonymity.suppression import Taxonomy
from fugu.operators.anonymity.windows import AnonymizedWindows
from fugu.operators.randomness import DrawScope, Secret

HOUR = 3_600_000
DAYS = Ticks(width=24 * HOUR, grace=2 * HOUR, max_jump=30, time=StreamTime(1))
TAXONOMY = Taxonomy.from_tree(
    {"Disease": {"Virus": ["Dengue", "H1N1"], "Bacteria": ["Cholera"], "Lung": ["Asthma"]}}
)
DIAGNOSES = ["Dengue", "H1N1", "Cholera", "Asthma"]
PLACES = ["clinic", "market", "school", "station"]
SECRET = Secret(bytes(range(32)))

Visit = tuple[str, int, str, str]
"""People, each with a time, a place and an illness."""


@dataclass
class Patients:
    """Some partitions, and the merge of what they write."""

    partitions: int = 2
    max_people: int = 1_000
    max_points: int = 20
    linked: bool = False
    ticks: Ticks = DAYS
    people: int = 3
    dead: list[tuple[int, int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        domain = Visits("place", "diagnosis", TAXONOMY.names)
        self.codec = Codec(domain, 1_000_000, FieldTimestamp("at", 1))
        admission = Admission("unchecked", self.partitions, 1_000)
        limits = (self.max_people, self.max_points, self.linked)
        self.gathering = Gathering(self.ticks, HOUR, *limits, admission)
        self.tables = [RowTable(self.gathering.start) for _ in range(self.partitions)]
        self.offsets = [0] * self.partitions
        anonymization = Anonymization(
            TAXONOMY, 2, self.people, 2, Fraction(1, 2), linked=self.linked
        )
        self.mechanism = AnonymizedWindows(anonymization, 2 * self.people, DAYS.width, HOUR)
        scope = DrawScope(SECRET, "patients", "anonymize", 1, self.mechanism.law_digest())
        self.merge = Anonymizing(self.mechanism, scope, "topic-id", self.partitions)
        self.publisher = Publisher(
            self.codec, scope, "topic-id", "visits", b"promise", "pseudonym", Pseudonyms(SECRET, "")
        )

    def told(self, placed: Sequence[tuple[int, Visit]], at_once: int = 1_000) -> list[WindowPeople]:
        """Yield what the partitions write, one after the other."""
        closed: list[WindowPeople] = []
        for partition in range(self.partitions):
            visits = [visit for where, visit in placed if where == partition]
            for start in range(0, len(visits), at_once):
                closed += self._gathered(partition, visits[start : start + at_once])
        return closed

    def released(
        self, parts: Sequence[WindowPeople], *, restarting: bool = False
    ) -> list[AnonymousWindow]:
        """The windows that are released, with this order of the log."""
        state, windows = self.merge.start(), list[AnonymousWindow]()
        for part in parts:
            windows += self.merge(state, read_entry(part.encoded(), "log"))
            if restarting:
                state = self._again(state)
        return windows

    def published(self, windows: list[AnonymousWindow]) -> Outgoing:
        """The records of the sanitized topic."""
        records = AnonymousRecords("place", "diagnosis", TAXONOMY.names, HOUR)
        return outgoing(windows, self.ticks, records, self.publisher)

    def restart(self) -> None:
        """Write the rows of every partition and read them back."""
        for partition, table in enumerate(self.tables):
            self.tables[partition] = RowTable(self.gathering.start)
            self.tables[partition].apply(table.take_everything())

    def _again(self, state: AnonymizingState) -> AnonymizingState:
        def load(_: str) -> OpenWindows:
            people = OpenWindows()
            people.apply(state.open.take_everything())
            return people

        return self.merge.restored(state.encoded(), load)

    def _gathered(self, partition: int, visits: Sequence[Visit]) -> list[WindowPeople]:
        first = self.offsets[partition]
        self.offsets[partition] += len(visits)
        offsets = list(range(first, first + len(visits)))
        batch = Batch(
            partition,
            offsets,
            [0] * len(offsets),
            [who.encode() for who, *_ in visits],
            [record(when, where, diagnosis) for _, when, where, diagnosis in visits],
            [[] for _ in offsets],
        )
        gathered = self.gathering(self.codec.decode(batch), self.tables[partition])
        dead = gathered.dead
        self.dead += [
            (partition, offset, str(reason))
            for offset, reason in zip(dead.offsets, dead.reasons, strict=True)
        ]
        return gathered.partials


def record(when: int, where: str, diagnosis: str) -> bytes:
    return orjson.dumps({"at": when, "place": where, "diagnosis": diagnosis})


def days(
    number: int, people: int = 60, seed: int = 1, hours: Sequence[int] = range(6, 14)
) -> list[tuple[int, Visit]]:
    """Everybody's visits of some days, in the order of time, and one of the last day's end."""
    random, visits = Random(seed), list[tuple[int, Visit]]()
    for day in range(10, 10 + number):
        for who in range(people):
            for hour in random.sample(hours, 4):
                when = (24 * day + hour) * HOUR + random.randrange(HOUR)
                visit = (f"user-{who}", when, random.choice(PLACES[: 1 + hour % 2]))
                visits.append((who % 2, (*visit, DIAGNOSES[who % 4])))
    end = (10 + number) * 24 * HOUR + 3 * HOUR
    visits += [(part, (f"user-{part}", end, "clinic", DIAGNOSES[part])) for part in range(2)]
    return sorted(visits, key=lambda one: one[1][1])


def bytes_of(published: Outgoing) -> list[tuple[object, ...]]:
    """Everything of each record."""
    return list(
        zip(published.keys, published.values, published.headers, published.timestamps, strict=True)
    )
