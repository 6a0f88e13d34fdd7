"""The life of the policies of one collection, occurrence by occurrence, told by the specification.

Every occurrence is an object of its own. What a change does is decided by looking at all of them;
nothing is computed with bounds. Source: Swellfish specification, section 2 (life cycle), with the
notice period and the rights of owners of `docs/policies.md`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from tests.privacy.policies.neighbours import Secret
from tests.privacy.policies.wishes import Daily, Grid, Wish

NEVER = 10**9
"""A tick after all that tests look at."""


class Unclear(Exception):
    """Say that the specification leaves open what becomes of a change."""


class Fate(Enum):
    """Say what became of a change."""

    ADMITTED = "admitted"
    REFUSED = "refused"


@dataclass
class Version:
    """Hold what one record asked for under an id, and from which tick on nothing of it begins."""

    wish: Wish
    planned: list[Secret]
    until: int = NEVER

    def counting(self) -> list[Secret]:
        """Return what protects people."""
        return [one for one in self.planned if one.start < self.until]


@dataclass(frozen=True)
class Wanted:
    """Hold what a record asks for: put `wish` under the id, or remove what is there."""

    id: str
    wish: Wish | None
    effective: int
    owner: bool = False
    sequence: int | None = None


@dataclass
class Life:
    """Follow the policies of a collection through all changes."""

    grid: Grid
    notice: int
    owned: bool = False
    versions: list[Version] = field(default_factory=list)
    losses: list[tuple[int, Wanted, Secret]] = field(default_factory=list)
    """What was planned at a tick, and a change took away."""
    sequence: int = -1

    def configure(self, wishes: Iterable[Wish]) -> None:
        """Begin with these, which everybody always knew."""
        self.versions = [Version(wish, self.grid.secrets(wish)) for wish in wishes]

    def secrets(self) -> list[Secret]:
        """Return all that protects people of the collection, or has."""
        return [one for version in self.versions for one in version.counting()]

    def tell(self, wanted: Wanted, now: int) -> Fate:
        """Decide on a change that is known from tick `now` on.

        Raises `Unclear`, having done nothing, where one may decide one way or the other.
        """
        if wanted.owner and (wanted.sequence is None or wanted.sequence <= self.sequence):
            return Fate.REFUSED
        there = [one for one in self.versions if one.wish.id == wanted.id]
        noticed = max(wanted.effective, now + self.notice)
        if wanted.wish is None:
            cuts = [(one, noticed) for one in there]
            if all(one.until <= noticed for one in there):
                return Fate.REFUSED
            return self._settle(wanted, now, cuts, reduces=True, adds=None)
        added = Version(wanted.wish, self._admissible(wanted.wish, max(wanted.effective, now), now))
        first = self._first(added, max(wanted.effective, now))
        if first is None:
            going = [one for one in there if one.until > noticed]
            return self._settle(wanted, now, [(one, noticed) for one in there], bool(going), None)
        cuts, reduces = [], False
        for old in there:
            later, covered = max(first, noticed), covers(wanted.wish, old.wish, self.grid, first)
            if covered is None and self._differs(old, first, later, wanted):
                raise Unclear
            cuts.append((old, first if covered else later))
            reduces |= not covered and old.until > first
        return self._settle(wanted, now, cuts, reduces, added)

    def _differs(self, old: Version, first: int, later: int, wanted: Wanted) -> bool:
        """Return whether it matters if the old version counts until `first`, or until `later`."""
        refusable = self.owned and not wanted.owner and old.until > first
        return refusable or any(first <= one.start < later for one in old.counting())

    def _admissible(self, wish: Wish, effective: int, now: int) -> list[Secret]:
        """Return what begins when it may: not before it counts, and within nothing open."""
        already_open = [one for one in self.secrets() if one.start < now <= one.end]
        return [
            one
            for one in self.grid.secrets(wish)
            if one.start >= effective and not any(one.start <= other.end for other in already_open)
        ]

    def _first(self, added: Version, effective: int) -> int | None:
        if added.planned:
            return added.planned[0].start
        return max(effective, NEVER // 2) if added.wish.when.endless else None

    def _settle(
        self,
        wanted: Wanted,
        now: int,
        cuts: list[tuple[Version, int]],
        reduces: bool,
        adds: Version | None,
    ) -> Fate:
        if reduces and self.owned and not wanted.owner:
            return Fate.REFUSED
        for version, until in cuts:
            before = version.counting()
            version.until = min(version.until, until)
            self.losses += [(now, wanted, one) for one in before if one.start >= version.until]
        if adds is not None:
            self.versions.append(adds)
        if wanted.owner and wanted.sequence is not None:
            self.sequence = wanted.sequence
        return Fate.ADMITTED


def covers(new: Wish, old: Wish, grid: Grid, first: int) -> bool | None:
    """Return whether the new wish hides whatever the old one does from `first` on; None, if a
    cautious reader may say no."""
    if _surely(new, old, grid):
        return True
    later = [one for one in grid.secrets(old) if one.start >= first]
    candidates = grid.secrets(new)
    if all(any(_hides(one, other) for one in candidates) for other in later):
        return None
    return False


def _surely(new: Wish, old: Wish, grid: Grid) -> bool:
    if not set(new.activities or old.activities) >= set(old.activities or new.activities):
        return False
    if bool(new.activities) and not old.activities:
        return False
    alike = len(new.amounts) == len(old.amounts) and all(
        more >= less for more, less in zip(new.amounts, old.amounts, strict=True)
    )
    larger = len(new.amounts) >= len(old.amounts) and min(new.amounts) >= max(old.amounts)
    if not (alike or larger):
        return False
    if new.when == old.when:
        return True
    if isinstance(new.when, Daily) and isinstance(old.when, Daily):
        return _wider(new.when, old.when, grid)
    return False


def _wider(new: Daily, old: Daily, grid: Grid) -> bool:
    days = set(new.days) >= set(old.days) and set(new.without) <= set(old.without)
    first = new.first is None or (old.first is not None and new.first <= old.first)
    last = new.last is None or (old.last is not None and new.last >= old.last)
    if (new.start, new.end) == (old.start, old.end):
        return days and first and last
    hours = new.start <= old.start and new.start + new.hours >= old.start + old.hours
    return days and first and last and hours and grid.zone == "UTC"


def _hides(new: Secret, old: Secret) -> bool:
    """Return whether any place of the old activity is a part of some place of the new one."""
    inside = new.start <= old.start and old.end <= new.end
    about = not new.activities or (
        bool(old.activities) and set(new.activities) >= set(old.activities)
    )
    return (
        inside
        and about
        and all(
            any(
                all(larger.get(tick, 0) >= amount for tick, amount in placement.items())
                for larger in new.placements()
            )
            for placement in old.placements()
        )
    )
