"""Ways to draw that a pipeline must not use, each with one thing left out."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fugu.operators.mechanism import Words
from fugu.operators.randomness import DrawScope, KeyedDraws

UNSAID = bytes(32)


@dataclass(frozen=True)
class GeneratorScope(DrawScope):
    """Every word comes from a generator, whoever asks and for what."""

    generator: np.random.Generator = field(kw_only=True)

    def draws(self, stream_keys: Sequence[bytes], positions: Sequence[bytes]) -> KeyedDraws:
        return GeneratorDraws(self._words_prefix, stream_keys, positions, self.generator)


@dataclass(frozen=True)
class GeneratorDraws(KeyedDraws):
    """See `GeneratorScope`."""

    generator: np.random.Generator

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        size = (len(binding), coordinates, count)
        return self.generator.integers(2**64, size=size, dtype=np.uint64)


@dataclass(frozen=True)
class UnboundScope(DrawScope):
    """Words are a function of the place alone: the binding is left out."""

    def draws(self, stream_keys: Sequence[bytes], positions: Sequence[bytes]) -> KeyedDraws:
        return UnboundDraws(self._words_prefix, stream_keys, positions)


@dataclass(frozen=True)
class UnboundDraws(KeyedDraws):
    """See `UnboundScope`."""

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        unbound = [UNSAID] * len(binding)
        return super().words(purpose, unbound, coordinates=coordinates, count=count)


@dataclass(frozen=True)
class PlaceOnlyScope(UnboundScope):
    """Words are a function of secret, stream key and position: all pipelines draw the same."""

    def draws(self, stream_keys: Sequence[bytes], positions: Sequence[bytes]) -> KeyedDraws:
        nobody = replace(self, pipeline="", operator="", version=0, law=UNSAID, key_epoch=0)
        return super(PlaceOnlyScope, nobody).draws(stream_keys, positions)


def with_generator(scope: DrawScope, seed: int) -> GeneratorScope:
    """The same scope, with words from a generator that starts at `seed`."""
    return GeneratorScope(**_fields(scope), generator=np.random.default_rng(seed))


def unbound(scope: DrawScope) -> UnboundScope:
    """The same scope without bindings."""
    return UnboundScope(**_fields(scope))


def place_only(scope: DrawScope) -> PlaceOnlyScope:
    """The same scope, of which only the secret is used."""
    return PlaceOnlyScope(**_fields(scope))


def _fields(scope: DrawScope) -> dict[str, Any]:
    return {name: getattr(scope, name) for name in DrawScope.__dataclass_fields__}
