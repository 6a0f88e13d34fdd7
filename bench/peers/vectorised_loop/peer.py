"""The yardstick: confluent-kafka by hand, a batch at a time, with nothing that can be left out.

One `consume` for up to 5,000 records, one parse for all their values, one compiled call for all
their steps. (`produce_batch` writes all of its messages to one partition; a call for each
partition was measured to cost what `produce` costs: 1.1 microseconds a record.)

Not done here, and done by Fugu: state survives nothing (after a restart the loop begins anew, with
fresh noise for the same truths), no release ids, noise without a key, no ledger of what was spent,
no pseudonyms, no dead letters: a record that is not as expected ends the program. It runs this one
law only.
"""

import numpy as np
import orjson
from confluent_clients import BATCH, WAIT_SECONDS, consumer_of, producer_of
from crr_step import ConditionalRandomizedResponse
from peer_command import Stop, arguments

STEPS = 10_000


class Users:
    """The row of each user, and a table of beliefs that grows."""

    def __init__(self, step: ConditionalRandomizedResponse) -> None:
        self._start = step.start()
        self._rows: dict[bytes, int] = {}
        self.beliefs = np.tile(self._start, (1_024, 1))

    def rows(self, keys: list[bytes]) -> np.ndarray:
        """Rows of users, of whom some may be new."""
        known = self._rows
        try:
            return np.array([known[key] for key in keys])
        except KeyError:
            rows = np.array([known.setdefault(key, len(known)) for key in keys])
        while len(known) > len(self.beliefs):
            self.beliefs = np.concatenate(
                [self.beliefs, np.tile(self._start, (len(self.beliefs), 1))]
            )
        return rows


def main() -> None:
    asked, stop = arguments(), Stop()
    step = ConditionalRandomizedResponse.of_file(asked.model, asked.epsilon)
    consumer, producer = consumer_of(asked.bootstrap, asked.source), producer_of(asked.bootstrap)
    produce, sink = producer.produce, asked.sink
    users, index, random = Users(step), step.index, np.random.default_rng()
    starts = [b'{"zone":%s,"confidence":' % orjson.dumps(symbol) for symbol in step.alphabet]
    ends = [b"%.4f}" % (number / STEPS) for number in range(STEPS + 1)]
    while not stop:
        messages = consumer.consume(BATCH, WAIT_SECONDS)
        if not messages:
            continue
        if any(message.error() for message in messages):
            raise SystemExit("the broker answered with an error")
        keys = [message.key() for message in messages]
        records = orjson.loads(b"[%b]" % b",".join([message.value() for message in messages]))
        symbols = np.array([index[record["zone"]] for record in records])
        rows = users.rows(keys)
        released, confidences = step.release_many(
            users.beliefs, rows, symbols, random.random(len(rows))
        )
        tenths = (confidences * STEPS + 0.5).astype(np.int64)
        for message, key, symbol, tenth in zip(
            messages, keys, released.tolist(), tenths.tolist(), strict=True
        ):
            produce(sink, starts[symbol] + ends[tenth], key, message.partition())
        producer.poll(0)
    producer.flush()
    consumer.close()


if __name__ == "__main__":
    main()
