"""The life of the policies of one collection, occurrence by occurrence, told by the specification.

Every occurrence is an object of its own. What a change does is decided by looking at all of them;
nothing is computed with bounds. Source: Swellfish specification, section 2 (life cycle), with the
notice period and the rights of owners of `docs/policies.md`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from operator import ge

from tests.privacy.policies.neighbours import Secret
from tests.privacy.policies.wishes import Daily, Grid, Single, Wish

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


@dataclass(frozen=True)
class Loss:
    """Hold what was planned and a change took away, and what there is instead of it."""

    now: int
    wanted: Wanted
    secret: Secret
    instead: list[Secret]

    def is_covered(self) -> bool:
        """Return whether it is hidden as before."""
        return any(hides(one, self.secret) is not False for one in self.instead)


@dataclass
class Life:
    """Follow the policies of a collection through all changes."""

    grid: Grid
    notice: int
    owned: bool = False
    versions: list[Version] = field(default_factory=list)
    losses: list["Loss"] = field(default_factory=list)
    sequence: int = 0

    def configure(self, wishes: Iterable[Wish]) -> None:
        """Begin with these, which everybody always knew."""
        self.versions = [Version(wish, self.grid.secrets(wish)) for wish in wishes]

    def make(self, wishes: Iterable[Wish], effective: int) -> None:
        """Begin with these as a collection that is new: nobody has anything of it yet."""
        for wish in wishes:
            planned = [one for one in self.grid.secrets(wish) if one.start >= effective]
            self.versions.append(Version(wish, planned))

    def secrets(self) -> list[Secret]:
        """Return all that protects people of the collection, or has."""
        return [one for version in self.versions for one in version.counting()]

    def tell(self, wanted: Wanted, now: int) -> Fate:
        """Decide on a change that is known from tick `now` on; its number counts if it is refused,
        too.

        Raises `Unclear`, having done nothing, where one may decide one way or the other.
        """
        if wanted.owner and (wanted.sequence is None or wanted.sequence <= self.sequence):
            return Fate.REFUSED
        fate = self._decide(wanted, now)
        if wanted.owner and wanted.sequence is not None:
            self.sequence = wanted.sequence
        return fate

    def _decide(self, wanted: Wanted, now: int) -> Fate:
        there = [one for one in self.versions if one.wish.id == wanted.id]
        noticed = max(wanted.effective, now + self.notice)
        if wanted.wish is None:
            cuts = [(one, noticed) for one in there]
            if all(one.until <= max(wanted.effective, now) for one in there):
                return Fate.REFUSED
            return self._settle(wanted, now, cuts, reduces=True, adds=None)
        added = Version(wanted.wish, self._admissible(wanted.wish, max(wanted.effective, now), now))
        first = self._first(added, max(wanted.effective, now))
        if first is None:
            going = [one for one in there if one.until > noticed]
            return self._settle(wanted, now, [(one, noticed) for one in there], bool(going), None)
        cuts, reduces = [], False
        for old in there:
            until = self._stays_until(old, added, first, noticed)
            cuts.append((old, until))
            reduces |= self._is_less(old, added, until) is not False
        if reduces and self.owned and not wanted.owner:
            self._require_certain(cuts, added)
        return self._settle(wanted, now, cuts, reduces, added)

    def _stays_until(self, old: Version, new: Version, first: int, noticed: int) -> int:
        """Return the tick from which on the new version hides enough instead of the old one.

        Until the end of the notice it has to hide all that the old one would.
        """
        until = first
        for one in old.counting():
            if first <= one.start < noticed:
                hidden = certainly(hides(other, one) for other in new.planned)
                if hidden is None:
                    raise Unclear
                until = until if hidden else max(until, one.start + 1)
        return until

    def _is_less(self, old: Version, new: Version, until: int) -> bool | None:
        """Return whether anything is hidden no more after that tick; None: one cannot be sure."""
        lost = [one for one in old.counting() if one.start >= until]
        endless = old.until == NEVER and old.wish.when.endless
        if not lost and not endless:
            return False
        hidden = [certainly(hides(other, one) for other in new.planned) for one in lost]
        if False in hidden:
            return True
        if isinstance(old.wish.when, Single) and None not in hidden:
            return False
        return False if always_hides(new.wish, old.wish) else None

    def _require_certain(self, cuts: list[tuple[Version, int]], new: Version) -> None:
        verdicts = [self._is_less(old, new, until) for old, until in cuts]
        if True not in verdicts and None in verdicts:
            raise Unclear

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
            gone = [one for one in before if one.start >= version.until]
            instead = [] if adds is None else adds.planned
            self.losses += [Loss(now, wanted, one, instead) for one in gone]
        if adds is not None:
            self.versions.append(adds)
        return Fate.ADMITTED


def certainly(answers: Iterable[bool | None]) -> bool | None:
    """Return whether one of them is yes; None, if one may be."""
    found = set(answers)
    return True if True in found else None if None in found else False


def hides(new: Secret, old: Secret) -> bool | None:
    """Return whether the new secret is also the old one, wherever that is; None, if it is but a
    cautious reader may not see it."""
    inside = new.start <= old.start and old.end <= new.end
    if not inside or not _about(new.activities, old.activities):
        return False
    if not all(_has(new, placement) for placement in old.placements()):
        return False
    return True if _plainly(new.amounts, old.amounts) else None


def _has(new: Secret, placement: dict[int, int]) -> bool:
    return any(
        all(larger.get(tick, 0) >= amount for tick, amount in placement.items())
        for larger in new.placements()
    )


def always_hides(new: Wish, old: Wish) -> bool:
    """Return whether anybody sees that the new wish hides all that the old one ever does."""
    own, its = new.when, old.when
    if not isinstance(own, Daily) or not isinstance(its, Daily):
        return False
    days = set(own.days) >= set(its.days) and set(own.without) <= set(its.without)
    first = own.first is None or (its.first is not None and own.first <= its.first)
    last = own.last is None or (its.last is not None and own.last >= its.last)
    hours = own.start == its.start and own.hours >= its.hours
    lowest = min(new.amounts) >= max(old.amounts) and len(new.amounts) >= len(old.amounts)
    alike = own.hours == its.hours and _each(new.amounts, old.amounts)
    return (
        _about(new.activities, old.activities)
        and days
        and first
        and last
        and hours
        and (lowest or alike)
    )


def _about(own: tuple[str, ...], its: tuple[str, ...]) -> bool:
    return not own or (bool(its) and set(own) >= set(its))


def _plainly(own: tuple[int, ...], its: tuple[int, ...]) -> bool:
    return _each(own, its) or (len(own) >= len(its) and min(own) >= max(its))


def _each(own: tuple[int, ...], its: tuple[int, ...]) -> bool:
    return len(own) == len(its) and all(map(ge, own, its))
