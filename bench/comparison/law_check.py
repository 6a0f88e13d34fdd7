"""Is what a contestant published what the law says? Fails loudly if not.

For every user the releases are read in order, and the public belief is computed from them. The law
then says with which probabilities each true symbol becomes what: how often the truth came out, and
how often each symbol did, must agree with their sums within five standard deviations, and the
published confidence must be the posterior of the released symbol.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from bench.comparison.data import Truth
from bench.comparison.topics import Topics
from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse

LARGEST_Z = 5.0
ROUNDS = 20
"""Releases of each user that are compared with the law; all are counted."""
_CONFIDENCE_ERROR = 1.01e-4


class WrongOutput(RuntimeError):
    """A contestant does not do the job."""


@dataclass(frozen=True)
class Checked:
    """Hold what was compared."""

    records: int
    compared: int
    largest_z: float


@dataclass(frozen=True)
class Published:
    """One partition of a sink: who, what, how sure."""

    users: Integers
    symbols: Integers
    confidences: Floats


def check_output(
    topics: Topics,
    sink: str,
    truths: list[Truth],
    law: ConditionalRandomizedResponse,
    alphabet: list[str],
    *,
    same_partition: bool,
    pseudonyms: bool,
) -> Checked:
    """Read all of the sink; `WrongOutput` if it is not what the law and the source allow."""
    published = [
        _published(topics, sink, partition, truth, alphabet, pseudonyms=pseudonyms)
        for partition, truth in enumerate(truths)
    ]
    if same_partition:
        for partition, (one, truth) in enumerate(zip(published, truths, strict=True)):
            if not np.array_equal(one.users, truth.users[: len(one.users)]):
                raise WrongOutput(f"partition {partition}: not the users of the source, in order")
    users = np.concatenate([one.users for one in published])
    released = _by_user(users, np.concatenate([one.symbols for one in published]))
    confidences = _by_user(users, np.concatenate([one.confidences for one in published]))
    true_users = np.concatenate([truth.users for truth in truths])
    true = _by_user(true_users, np.concatenate([truth.symbols for truth in truths]))
    counts = np.bincount(users, minlength=int(true_users.max()) + 1)
    if (counts > np.bincount(true_users, minlength=len(counts))).any():
        raise WrongOutput("a user has more releases than records")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    true_starts = np.concatenate(
        [[0], np.cumsum(np.bincount(true_users, minlength=len(counts)))[:-1]]
    )
    return compare_with_law(law, counts, released, confidences, starts, true, true_starts)


def compare_with_law(
    law: ConditionalRandomizedResponse,
    counts: Integers,
    released: Integers,
    confidences: Floats,
    starts: Integers,
    true: Integers,
    true_starts: Integers,
) -> Checked:
    symbols = law.model.symbols
    whole = law.start(len(counts))
    expected, variance, seen = np.zeros((3, symbols + 1))
    compared = 0
    for number in range(ROUNDS):
        rows = np.flatnonzero(counts > number)
        if not len(rows):
            break
        state = {name: column[rows] for name, column in whole.items()}
        truth, out = true[true_starts[rows] + number], released[starts[rows] + number]
        probabilities = law.law(np.ascontiguousarray(state["belief"].T)).probabilities(truth)
        hits = probabilities[truth, np.arange(len(rows))]
        expected += [*probabilities.sum(axis=1), hits.sum()]
        variance += [
            *(probabilities * (1 - probabilities)).sum(axis=1),
            (hits * (1 - hits)).sum(),
        ]
        seen += [*np.bincount(out, minlength=symbols), (out == truth).sum()]
        if (probabilities[out, np.arange(len(rows))] <= 0.0).any():
            raise WrongOutput(f"release {number + 1} of a user cannot be: its probability is 0")
        after, posterior = law.observe(state, out)
        for name, column in after.items():
            whole[name][rows] = column
        apart = np.abs(posterior[np.arange(len(rows)), out] - confidences[starts[rows] + number])
        if not (apart < _CONFIDENCE_ERROR).all():
            raise WrongOutput(
                f"release {number + 1}: confidence is not the posterior, for "
                f"{np.mean(~(apart < _CONFIDENCE_ERROR)):.1%} of users"
            )
        compared += len(rows)
    largest = float(np.max(np.abs(seen - expected) / np.sqrt(np.maximum(variance, 1.0))))
    if not largest < LARGEST_Z:
        raise WrongOutput(f"released symbols are not drawn from the law: |z| = {largest:.1f}")
    return Checked(int(counts.sum()), compared, largest)


def _published(
    topics: Topics,
    sink: str,
    partition: int,
    truth: Truth,
    alphabet: list[str],
    *,
    pseudonyms: bool,
) -> Published:
    index = {symbol: number for number, symbol in enumerate(alphabet)}
    keys: list[bytes] = []
    symbols: list[int] = []
    confidences: list[float] = []
    for messages in topics.messages(sink, partition):
        keys += [bytes(message.key() or b"") for message in messages]
        values = orjson.loads(
            b"[" + b",".join(bytes(message.value() or b"null") for message in messages) + b"]"
        )
        try:
            symbols += [index[value["zone"]] for value in values]
            confidences += [value["confidence"] for value in values]
        except (KeyError, TypeError):
            raise WrongOutput(f"partition {partition}: a value is not as agreed") from None
    users = _users_behind(keys, truth, partition) if pseudonyms else _users_named(keys)
    return Published(
        users, np.array(symbols, dtype=np.int64), np.array(confidences, dtype=np.float64)
    )


def _users_named(keys: list[bytes]) -> Integers:
    try:
        return np.array([int(key[5:]) for key in keys], dtype=np.int64)
    except ValueError:
        raise WrongOutput("a key is not that of the source record") from None


def _users_behind(keys: list[bytes], truth: Truth, partition: int) -> Integers:
    """Users by position; every pseudonym must stand for one user, and every user have one."""
    users = truth.users[: len(keys)]
    pairs = set(zip(keys, users.tolist(), strict=True))
    if not len(pairs) == len(set(keys)) == len(set(users.tolist())):
        raise WrongOutput(f"partition {partition}: pseudonyms and users do not correspond")
    return users


def _by_user(users: Integers, values: Any) -> Any:
    """Sorted by user; what is one user's stays in order."""
    return values[np.argsort(users, kind="stable")]
