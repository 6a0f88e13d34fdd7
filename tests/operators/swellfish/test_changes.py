"""Read the standing of collections back as it was written, whatever was decided."""

from random import Random

import pytest

from fugu.operators.swellfish.changes import Standing, decoded, encoded
from fugu.operators.swellfish.policy import FOR_EVER, Admitted, Collection
from tests.operators.swellfish.test_lifecycle import random_policy

CONFIGURED = ("home", "cabin")
MADE = ("attic", "hotel")


def random_standing(random: Random, collection: Collection | None) -> Standing:
    def until() -> int:
        return random.choice([FOR_EVER, random.randrange(100)])

    configured = () if collection is None else collection.policies
    added = [random_policy(random, f"new {n}", 10) for n in range(random.randrange(3))]
    keys = random.sample(["meter-7", 'a "b"', "ü", "removed"], random.randrange(4))
    return Standing(
        admitted=(
            *(Admitted(policy, until=until()) for policy in configured),
            *(Admitted(policy, random.randrange(50), until()) for policy in added),
        ),
        owned=random.random() < 0.5 if collection is None else collection.owned,
        sequence=random.choice([0, 1, 2**53 - 1]),
        made=collection is None,
        keys={key: random.randrange(100) for key in keys},
    )


@pytest.mark.parametrize("seed", range(20))
def test_standings_are_read_back_as_they_were(seed: int) -> None:
    random = Random(seed)
    collections = tuple(
        Collection(name, (random_policy(random, "tea", 10),), owned=random.random() < 0.5)
        for name in CONFIGURED
    )
    standings = {one.id: random_standing(random, one) for one in collections}
    standings |= {name: random_standing(random, None) for name in MADE[: random.randrange(3)]}
    content = encoded(standings)
    assert decoded(content, collections) == standings
    assert encoded(decoded(content, collections)) == content


def test_nothing_is_written_where_nothing_was_changed() -> None:
    collections = (Collection("home", (random_policy(Random(1), "tea", 10),), owned=True),)
    assert encoded(decoded(b"", collections)) == b""
