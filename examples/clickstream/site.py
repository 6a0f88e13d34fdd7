"""A web site with a few popular pages and many rare ones, and its visitors.

Popularity follows Zipf's law. A visit begins at a page by popularity; then visitors follow one of
the page's links, go back, or jump to a page by popularity. That is not quite a Markov chain: going
back depends on the last page but one. The same seeds give the same site and the same clicks.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import exp
from random import Random
from typing import NamedTuple

_LINKS = 8
_FOLLOWS, _GOES_BACK = 0.55, 0.12
_CLICKS_PER_VISIT, _VISITS = 5.0, 2.0
_SECONDS_PER_PAGE, _SECONDS_AWAY = 40.0, 3600.0
_ARRIVALS_SECONDS = 3600.0


class Click(NamedTuple):
    """One page view; `milliseconds` since the first day began."""

    milliseconds: int
    visitor: int
    visit: int
    page: int


@dataclass(frozen=True)
class Site:
    """Pages by rank of popularity, and links between them that depend on `seed`.

    Visitors of other `tastes` find a page e^(tastes z) times as interesting, with z normal.
    """

    pages: int = 5_000
    seed: int = 1
    tastes: float = 0.0

    @cached_property
    def names(self) -> list[str]:
        """page-0001 is the most popular one."""
        return [f"page-{rank:04d}" for rank in range(1, self.pages + 1)]

    @cached_property
    def links(self) -> list[list[int]]:
        """Return where each page leads to, the most prominent link first."""
        random = Random(self.seed)
        return [self._links_of(page, random) for page in range(self.pages)]

    def clicks(self, visitors: int, seed: int) -> list[Click]:
        """Everything that so many visitors do, in order of time."""
        random = Random(seed)
        clicks = [click for visitor in range(visitors) for click in self._visitor(visitor, random)]
        return sorted(clicks)

    def _visitor(self, visitor: int, random: Random) -> Iterator[Click]:
        seconds = random.uniform(0.0, _ARRIVALS_SECONDS)
        for visit in range(_geometric(random, _VISITS)):
            before, page = None, self._by_taste(random)
            for _ in range(_geometric(random, _CLICKS_PER_VISIT)):
                yield Click(int(1000 * seconds), visitor, visit, page)
                before, page = page, self._next(before, page, random)
                seconds += 1.0 + random.expovariate(1.0 / _SECONDS_PER_PAGE)
            seconds += random.expovariate(1.0 / _SECONDS_AWAY)

    def _next(self, before: int | None, page: int, random: Random) -> int:
        way = random.random()
        if way < _FOLLOWS:
            return random.choices(self.links[page], cum_weights=self._prominence)[0]
        if way < _FOLLOWS + _GOES_BACK and before is not None:
            return before
        return self._by_taste(random)

    def _links_of(self, page: int, random: Random) -> list[int]:
        """Half to popular pages, half to any."""
        links: list[int] = []
        while len(links) < min(_LINKS, self.pages - 1):
            if random.random() < 0.5:
                link = random.choices(range(self.pages), cum_weights=self._popularity)[0]
            else:
                link = random.randrange(self.pages)
            if link != page and link not in links:
                links.append(link)
        return links

    def _by_taste(self, random: Random) -> int:
        return random.choices(range(self.pages), cum_weights=self._interest)[0]

    @cached_property
    def _popularity(self) -> list[float]:
        return list(accumulate(1.0 / rank for rank in range(1, self.pages + 1)))

    @cached_property
    def _interest(self) -> list[float]:
        random = Random(self.seed + 1)
        return list(
            accumulate(
                exp(self.tastes * random.gauss(0.0, 1.0)) / rank
                for rank in range(1, self.pages + 1)
            )
        )

    @cached_property
    def _prominence(self) -> list[float]:
        places = min(_LINKS, self.pages - 1)
        return list(accumulate(1.0 / place for place in range(1, places + 1)))


def _geometric(random: Random, mean: float) -> int:
    count = 1
    while random.random() < 1.0 - 1.0 / mean:
        count += 1
    return count
