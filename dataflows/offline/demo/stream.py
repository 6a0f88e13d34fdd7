"""Draw heart-rate zones of the demo's users from the public model, so that the truth is known."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from random import Random

import orjson

from fugu.dataflows.offline.demo.raw_records import RawRecord
from fugu.operators.sip.markov_model import MarkovModel

_SEED = 20240601
_MINUTE_MS = 60_000


@dataclass(frozen=True)
class DemoStream:
    """Draw `records` readings, one a minute per user, from `users` users in turn."""

    model: MarkovModel
    alphabet: list[str]
    users: int
    records: int

    def truth(self) -> list[tuple[bytes, int]]:
        """Return (user, zone index) of every record, in the order in which they happen."""
        random = Random(_SEED)
        prior = list(accumulate(self.model.prior.tolist()))
        rows = [list(accumulate(row)) for row in self.model.transition.tolist()]
        zones: list[int | None] = [None] * self.users
        symbols = range(len(self.alphabet))
        told = []
        for number in range(self.records):
            user = number % self.users
            before = zones[user]
            weights = prior if before is None else rows[before]
            zone = zones[user] = random.choices(symbols, cum_weights=weights)[0]
            told.append((b"user-%05d" % user, zone))
        return told

    def raw(self, truth: list[tuple[bytes, int]]) -> Iterator[RawRecord]:
        """Yield the raw records, each with fields that no pipeline may let through."""
        rounds = self.records // self.users
        start = int(datetime.now(UTC).timestamp() * 1000) - rounds * _MINUTE_MS
        for number, (user, zone) in enumerate(truth):
            value = orjson.dumps(
                {"zone": self.alphabet[zone], "device": f"watch-{number % 997}", "steps": number}
            )
            yield user, value, start + (number // self.users) * _MINUTE_MS
