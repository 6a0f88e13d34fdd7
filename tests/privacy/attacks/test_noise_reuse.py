"""Find the same noise under two releases: subtract them, and what is left is exact.

No two draws share a word, whatever the smallest difference between them is, although all of them
have one secret. Where a field is left out, words repeat, and whoever reads two pipelines over one
source, or two grids, solves for the truth.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pytest

from fugu.operators.columns import encode_fields
from fugu.operators.mechanism import Floats, Inputs, Words
from fugu.operators.noise.discrete_laplace import PRECISION
from fugu.operators.noise.laplace import LaplaceNoise
from fugu.operators.noise.number_release import LaplaceRelease
from fugu.operators.randomness import DrawScope, Secret, record_positions
from tests.privacy.attacks.broken_draws import place_only

SECRET = Secret(bytes(range(32)))
COUNT = 16
READERS = 2000


@dataclass(frozen=True)
class Context:
    """Everything that tells one draw from another, but for the secret."""

    pipeline: str = "a"
    operator: str = "bc"
    version: int = 1
    law: bytes = bytes(32)
    key_epoch: int = 0
    stream: bytes = b"alice"
    position: bytes = record_positions("t", 0, [0])[0]
    purpose: str = "release"
    coordinate: int = 0
    binding: bytes = bytes(32)

    def words(self) -> Words:
        """The first words of the draw."""
        scope = DrawScope(
            SECRET, self.pipeline, self.operator, self.version, self.law, self.key_epoch
        )
        draws = scope.draws([self.stream], [self.position])
        drawn = draws.words(
            self.purpose, [self.binding], coordinates=self.coordinate + 1, count=COUNT
        )
        return np.asarray(drawn[0, self.coordinate])


OTHER = Context(
    pipeline="ab",
    operator="c",
    version=2,
    law=bytes(31) + b"\x01",
    key_epoch=1,
    stream=b"alic",
    position=record_positions("t", 0, [1])[0],
    purpose="releas",
    coordinate=1,
    binding=bytes(31) + b"\x01",
)
"""Another one in every field; names that would be the same if they were joined without a sign."""

FIELDS = [field.name for field in fields(Context)]


def all_contexts() -> list[Context]:
    """Each field from either of the two."""
    choices = ((getattr(Context(), name), getattr(OTHER, name)) for name in FIELDS)
    return [Context(*chosen) for chosen in product(*choices)]


def repeated_words(contexts: list[Context]) -> int:
    """Return how many words were drawn more than once."""
    words = np.concatenate([context.words() for context in contexts])
    return len(words) - len(np.unique(words))


def test_no_two_draws_share_a_word() -> None:
    """Chance would repeat one of the 16,384 with probability 1e-11."""
    contexts = all_contexts()
    assert len(contexts) == 2 ** len(FIELDS)
    assert repeated_words(contexts) == 0


@pytest.mark.parametrize("name", FIELDS)
def test_whatever_is_left_out_of_a_draw_makes_words_repeat(name: str) -> None:
    forgotten: dict[str, Any] = {name: getattr(Context(), name)}
    contexts = [replace(context, **forgotten) for context in all_contexts()]
    assert repeated_words(contexts) == COUNT * len(contexts) // 2


LOWER, UPPER = 0, 1600
ONE = LaplaceRelease(LOWER, UPPER, epsilon=1.0)
TWO = LaplaceRelease(LOWER, UPPER, epsilon=0.5)
TRUTHS = np.random.default_rng(8).integers(LOWER, UPPER + 1, size=READERS)

two_pipelines = pytest.mark.parametrize(
    "changes",
    [
        {"pipeline": "two"},
        {"version": 2},
        {"key_epoch": 1},
        {"operator": "another"},
        {},
    ],
    ids=["pipeline", "version", "key epoch", "operator", "epsilon only"],
)


def points(mechanism: LaplaceRelease, scope: DrawScope) -> Floats:
    """Everybody's release, counted in grid steps as any reader can."""
    keys = [b"user-%d" % user for user in range(READERS)]
    draws = scope.draws(keys, record_positions("topic", 0, range(READERS)))
    _, releases = mechanism.step(mechanism.start(READERS), Inputs(TRUTHS), draws)
    return np.rint(releases.values / float(mechanism.noise.grid.step))


def solved(changes: dict[str, Any], change: Callable[[DrawScope], DrawScope]) -> float:
    """Share of truths that two pipelines over one source give away.

    If both have the same noise, counted in steps of either grid, it cancels out, and the rest is
    the truth times a public number.
    """
    scope = DrawScope(SECRET, "one", "laplace", 1, ONE.law_digest())
    other = replace(scope, law=TWO.law_digest(), **changes)
    difference = points(ONE, change(scope)) - points(TWO, change(other))
    per_unit = 1 / ONE.noise.grid.step - 1 / TWO.noise.grid.step
    return float(np.mean(np.rint(difference / float(per_unit)) == TRUTHS))


@two_pipelines
def test_two_pipelines_over_one_source_have_no_noise_in_common(changes: dict[str, Any]) -> None:
    """A guess is right with probability 8e-5, so 1 % of 2,000 are not, but for 1e-30."""
    assert solved(changes, lambda scope: scope) < 0.01


@two_pipelines
def test_with_noise_of_the_place_alone_two_pipelines_give_every_truth_away(
    changes: dict[str, Any],
) -> None:
    assert solved(changes, place_only) == 1.0


class WithoutCoordinates(LaplaceNoise):
    """Bound to sensitivity, s and M, which two grids can have in common."""

    @cached_property
    def _bound_to(self) -> bytes:
        return encode_fields(self.sensitivity, self.index_sensitivity, PRECISION)


def equal_points(kind: type[LaplaceNoise], value: int) -> float:
    """Return how often grids for one changed coordinate and for two have the same release."""
    scope = DrawScope(SECRET, "one", "laplace", 1, bytes(32))
    draws = scope.draws([b"key"] * READERS, record_positions("topic", 0, range(READERS)))
    values = np.full(READERS, value)
    one, two = (kind(UPPER, 1.0, LOWER, UPPER, coordinates) for coordinates in (1, 2))
    return float(np.mean(one.add(values, draws) == two.add(values, draws)))


@pytest.mark.parametrize("value", [LOWER, UPPER])
def test_two_grids_have_no_noise_in_common(value: int) -> None:
    """Chance would make one of 2,000 equal with probability 3e-5."""
    assert equal_points(LaplaceNoise, value) == 0.0


def test_bound_to_less_two_grids_tell_small_values_from_large_ones() -> None:
    assert equal_points(WithoutCoordinates, LOWER) == 1.0
    assert equal_points(WithoutCoordinates, UPPER) == 0.0
