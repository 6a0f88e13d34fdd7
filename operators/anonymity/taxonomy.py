"""The tree of sensitive values, from the general to the particular."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fugu.operators.mechanism import Integers

LOWEST_HEIGHT = 2
"""Bound privacy heights from below: the root, level 1, says nothing."""


@dataclass(frozen=True)
class Taxonomy:
    """Hold a rooted tree of names, each with the index of its parent; the root has none.

    A level counts from the root, which is at level 1. The category of a value at a height is the
    nearest of the value and its ancestors whose level is that height at most.

    Errors: no root or several, a parent that is not a name, a name that occurs twice, a circle.

    >>> tree = {"Disease": {"Virus infection": ["Dengue", "H1N1"], "Lung infection": None}}
    >>> taxonomy = Taxonomy.from_tree(tree)
    >>> taxonomy.height, taxonomy.level("Dengue"), taxonomy.category("Dengue", 2)
    (3, 3, 'Virus infection')
    >>> taxonomy.category("Lung infection", 2)
    'Lung infection'

    Source: anonymisation specification, sections 1 and 2 (`evsv`).
    """

    names: tuple[str, ...]
    parents: tuple[int | None, ...]

    def __post_init__(self) -> None:
        if len(self.names) != len(self.parents):
            raise ValueError("taxonomy: give one parent for each name, and None for the root")
        seen: set[str] = set()
        for name in self.names:
            if not name:
                raise ValueError("taxonomy: a name is empty")
            if name in seen:
                raise ValueError(f"taxonomy: {name!r} occurs twice; give each name one place")
            seen.add(name)
        roots = [name for name, up in zip(self.names, self.parents, strict=True) if up is None]
        if len(roots) != 1:
            known = ", ".join(map(repr, roots)) or "none"
            raise ValueError(
                f"taxonomy: needs exactly one root, a name without parent; has {known}"
            )
        self._check_circles()

    @classmethod
    def from_parents(cls, parents: Mapping[str, str | None]) -> "Taxonomy":
        """Return the taxonomy of names and their parents; None is the parent of the root."""
        names = tuple(parents)
        places = {name: place for place, name in enumerate(names)}
        for name, parent in parents.items():
            if parent is not None and parent not in places:
                raise ValueError(f"taxonomy: the parent of {name!r}, {parent!r}, is not a name")
        return cls(
            names,
            tuple(None if parent is None else places[parent] for parent in parents.values()),
        )

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> "Taxonomy":
        """Return the taxonomy of a nested mapping from names to what is below them.

        Below a name stands another mapping, a list of names or of mappings, one name, or None.
        """
        pairs = list(_walk(tree, None))
        names = tuple(name for name, _ in pairs)
        return cls(names, tuple(parent for _, parent in _numbered(pairs)))

    @property
    def root(self) -> str:
        """Return the name that everything is below."""
        return self.names[self.parents.index(None)]

    @cached_property
    def levels(self) -> Integers:
        """Return the level of each name, by index."""
        levels = np.zeros(len(self.names), dtype=np.int64)
        for place in range(len(self.names)):
            levels[place] = len(self._path(place))
        return levels

    @property
    def height(self) -> int:
        """Return the largest level."""
        return int(self.levels.max())

    def index(self, value: str) -> int:
        """Return the index of a value. Raise `ValueError` if the taxonomy does not have it."""
        try:
            return self._places[value]
        except KeyError:
            raise ValueError("the value is not in the taxonomy; add it, or correct it") from None

    def level(self, value: str) -> int:
        """Return the level of a value; that of the root is 1."""
        return int(self.levels[self.index(value)])

    def category(self, value: str, height: int) -> str:
        """Return the nearest of the value and its ancestors whose level is `height` at most."""
        return self.names[int(self.categories(height)[self.index(value)])]

    def categories(self, height: int) -> Integers:
        """Return the index of the category of each name at this height, by index."""
        if height < LOWEST_HEIGHT:
            raise ValueError(
                f"privacy_height: {height} is below {LOWEST_HEIGHT}; the root says nothing"
            )
        found = [self._path(place)[:height][-1] for place in range(len(self.names))]
        return np.array(found, dtype=np.int64)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    def _path(self, place: int) -> list[int]:
        """Return the indices from the root to a name."""
        path: list[int] = [place]
        while (parent := self.parents[path[-1]]) is not None:
            path.append(parent)
        return path[::-1]

    def _check_circles(self) -> None:
        below_root: set[int] = set()
        for place, name in enumerate(self.names):
            path: set[int] = set()
            at: int | None = place
            while at is not None and at not in below_root:
                if not 0 <= at < len(self.names):
                    raise ValueError(f"taxonomy: {name!r} is below something that is not a name")
                if at in path:
                    raise ValueError(f"taxonomy: {name!r} is below itself; remove the circle")
                path.add(at)
                at = self.parents[at]
            below_root |= path


def _walk(below: Any, parent: str | None) -> Iterator[tuple[str, str | None]]:
    """Yield each name and its parent, every parent before its children."""
    match below:
        case None:
            return
        case str():
            yield below, parent
        case Mapping():
            for name, rest in below.items():
                if not isinstance(name, str):
                    raise ValueError(f"taxonomy: {name!r} is not a text; put it in quotes")
                yield name, parent
                yield from _walk(rest, name)
        case Sequence():
            for part in below:
                yield from _walk(part, parent)
        case _:
            raise ValueError(
                f"taxonomy: below {parent!r} stands {below!r}; write names, lists or mappings there"
            )


def _numbered(pairs: Sequence[tuple[str, str | None]]) -> Iterator[tuple[str, int | None]]:
    places: dict[str, int] = {}
    for place, (name, parent) in enumerate(pairs):
        yield name, None if parent is None else places[parent]
        places.setdefault(name, place)
