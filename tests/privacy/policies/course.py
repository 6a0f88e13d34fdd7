"""One pipeline for some days, whose policies are changed by everybody, beside a judge."""

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from itertools import accumulate, pairwise
from pathlib import Path
from random import Random

import orjson
import pytest

from fugu.dataflows.policies.changes import UnusableChange
from fugu.operators.randomness import Secret
from fugu.operators.swellfish.changes import Change
from fugu.operators.swellfish.timeline import Unexplained, Written, explained
from tests.privacy.policies.authors import Letter, Owner, costly, malformed, tampered
from tests.privacy.policies.household import (
    OPERATORS,
    PARTITIONS,
    Figure,
    pipeline,
    record,
    written,
)
from tests.privacy.policies.judge import Judge
from tests.privacy.policies.life import NEVER, Life, Unclear, Wanted
from tests.privacy.policies.people import Somebody
from tests.privacy.policies.questions import QUESTIONS
from tests.privacy.policies.randomly import NAMES, Wisher
from tests.privacy.policies.wishes import Grid

GRIDS = (
    Grid("UTC", datetime(2026, 5, 4)),
    Grid("UTC", datetime(2026, 12, 28)),
    Grid("Europe/Berlin", datetime(2026, 3, 27, 12)),
    Grid("Europe/Berlin", datetime(2026, 10, 23, 12)),
)
KINDS = sorted(OPERATORS)
TICKS = 60
NOTICE = 10


class Course:
    """Run one pipeline for some days, with changes by everybody, and the judge beside it."""

    def __init__(self, seed: int, directory: Path) -> None:
        self.random = random = Random(seed)
        self.grid = GRIDS[seed % len(GRIDS)]
        self.question = QUESTIONS[random.choice(["sum", *QUESTIONS])]
        self.wisher = Wisher(random, self.grid, self.question)
        alice = Owner("alice", random.randbytes(32))
        olga = Owner("olga", random.randbytes(32), shares_secret=True)
        self.other = Owner("mallory", random.randbytes(32))
        self.owners = {} if random.random() < 0.2 else {"home": alice, "office": olga}
        steps = (1 if random.random() < 0.9 else random.randrange(2, 9) for _ in range(2 * TICKS))
        self.ticks = list(accumulate(steps, initial=self.grid.first_tick))
        self.place = 0
        self.judge = Judge(
            {
                name: Life(self.grid, NOTICE, owned=name in self.owners)
                for name in ("cabin", "home", "office")
            },
            self.question,
        )
        self.root = Owner("root", random.randbytes(32)) if random.random() < 0.3 else None
        if self.root is not None:
            for life in self.judge.lives.values():
                life.owned = True
        wishes = {
            name: [self.wisher.wish(one, self.following) for one in random.sample(NAMES, 2)]
            for name in self.judge.lives
        }
        self.people = {f"of-{name}": Somebody([(-NEVER, name)]) for name in self.judge.lives}
        self.judge.people += self.people.values()
        for name, life in self.judge.lives.items():
            life.configure(wishes[name])
        limits = {"noise": 20 * self.question.most}
        document = written(self.grid, wishes, self.question, notice=f"{NOTICE}h", limits=limits)
        for collection in document["collections"]:
            if collection["id"] in self.owners:
                collection["owners"] = [self.owners[collection["id"]].section()]
        if self.root is not None:
            document["owners"] = [self.root.section()]
        secret = Secret(olga.private) if self.owners else None
        kind = KINDS[seed // len(GRIDS) % len(KINDS)]
        self.required = random.random() < 0.15
        more = self.question.operator
        self.pipeline = pipeline(directory, document, kind, secret, self.required, **more)
        self.truth: dict[int, tuple[int, ...]] = {}
        self.told: dict[int, int] = {}
        """At which tick each change was told first."""
        self.figures: dict[int, Figure] = {}
        self.signed: list[tuple[str, Wanted, Letter]] = []
        self.sequence = 0
        self.seen: Counter[str] = Counter()

    @property
    def following(self) -> int:
        """Return the tick that is released next."""
        return self.ticks[self.place]

    def run(self) -> None:
        """Run until enough ticks were released."""
        random = self.random
        for before, tick in pairwise([self.ticks[0] - 1, *self.ticks]):
            if self.place >= TICKS:
                break
            figures = range(self.question.numbers)
            values = [[random.choice([0, 10, 4000]) for _ in figures] for _ in range(PARTITIONS)]
            self.truth[tick] = tuple(map(sum, zip(*values, strict=True)))
            for partition in random.sample(range(PARTITIONS), PARTITIONS):
                while random.random() < 0.5:
                    self._change()
                if random.random() < 0.1:
                    self._make() if random.random() < 0.5 else self._move()
                self.pipeline.partial(partition, tick, values[partition], tick - before - 1)
                self._merge()
                self._cover()
                self._disturb()
        self.judge.finish()
        self._prove()

    def _prove(self) -> None:
        """Find from the digests of figures alone which changes were known from which tick on."""
        written = [Written(change) for change in self.pipeline.changes]
        figures = [(tick, bytes.fromhex(one.policies)) for tick, one in self.figures.items()]
        *_, known = explained(self.pipeline.operator.timeline, written, figures)
        assert dict(known.applied) == self.told
        if self.random.random() < 0.2:
            self._prove_that_a_change_was_left_out(written, figures)

    def _prove_that_a_change_was_left_out(
        self, written: list[Written], figures: list[tuple[int, bytes]]
    ) -> None:
        """Look for one that the pipeline never knew, though it is in the topic."""
        place = self.random.randrange(len(written) + 1)
        omitted = Change("cabin", 0, removes="omitted", adds=None).to_bytes()
        topic = [*written[:place], Written(omitted), *written[place:]]
        try:
            *_, known = explained(self.pipeline.operator.timeline, topic, figures)
        except Unexplained:
            self.seen["left out, found"] += 1
        else:
            assert known.told <= place >= len(self.told)

    def _change(self) -> None:
        """Send a change, which the next tick that is released is the first to know of."""
        random, name = self.random, self.random.choice(list(self.judge.lives))
        owner = self.owners.get(name, self.root if self.judge.lives[name].owned else None)
        other = self.owners.get(random.choice(["home", "office"]))
        policy, wish, effective = self.wisher.change(self.judge.lives[name], self.following)
        wanted = Wanted(policy, wish, effective)
        key = f"{name}/{policy}".encode()
        if random.random() < 0.6 and owner is not None:
            self.sequence += 1
            wanted = replace(wanted, owner=True, sequence=self.sequence)
            value = record(wish, effective, sequence=self.sequence)
            letter = owner.sign(Letter(key, value))
            self._send("by the owner", name, wanted, letter)
            self.signed.append((name, wanted, letter))
            return
        letter = Letter(key, record(wish, effective, sequence=10**6))
        match random.randrange(8):
            case 0:
                self._send_unusable("malformed", malformed(letter, random))
            case 7 if wish is not None:
                self._send_costly(name, costly(letter, random), owner)
            case 1 if owner is not None:
                self._send_unusable("forged", tampered(letter, owner, self.other, random))
            case 2 if other is not None and other is not owner:
                self._send("by the owner of another one", name, wanted, other.sign(letter))
            case 3 if self.signed:
                again, old, repeated = random.choice(self.signed)
                self._send("repeated", again, old, repeated)
            case 4 if self.signed:
                again, old, repeated = random.choice(self.signed)
                bare = replace(old, owner=False)
                self._send("unsigned again", again, bare, replace(repeated, headers=()))
            case 5:
                gone = Wanted(policy, None, 0)
                self._send("tombstone", name, gone, Letter(key, None))
            case _:
                self._send("by anybody", name, wanted, letter)

    def _make(self) -> None:
        """Make a collection; who owns all of them owns this one, too."""
        random, now = self.random, self.following
        name = f"new-{len(self.judge.lives) - random.randrange(2)}"
        wishes = [self.wisher.wish(one, now) for one in random.sample(NAMES, 2)]
        effective = now + random.choice([-400, 0, 5])
        content = {"policies": [wish.section() for wish in wishes]}
        letter, owner = self._by_root(name, random.random() < 0.5, effective, collection=content)
        if self.required and not owner:
            self._send_unusable("not signed", letter)
            return
        self.pipeline.change(letter.key, letter.value, letter.headers)
        self._merge()
        if name not in self.judge.lives:
            life = Life(self.grid, NOTICE, owned=owner)
            life.sequence = self.sequence if owner else 0
            life.make(wishes, max(effective, now))
            self.judge.lives[name] = life
            self.seen["made"] += 1
        elif owner:
            self.judge.lives[name].sequence = self.sequence

    def _move(self) -> None:
        """Give people another collection, when the notice is over."""
        random, name = self.random, self.random.choice(list(self.judge.lives))
        keys = random.sample(sorted(self.people), random.randrange(1, 3))
        effective = self.following + random.choice([-400, 0, 15])
        letter, owner = self._by_root(name, random.random() < 0.5, effective, keys=keys)
        if self.required and not owner:
            self._send_unusable("not signed", letter)
            return
        self.pipeline.change(letter.key, letter.value, letter.headers)
        if owner or not any(life.owned for life in self.judge.lives.values()):
            if owner:
                self.judge.lives[name].sequence = self.sequence
            for key in keys:
                self.people[key].move(max(effective, self.following + NOTICE), name)
                self.seen["moved"] += 1
        self._merge()

    def _by_root(
        self, name: str, signs: bool, effective: int, **what: object
    ) -> tuple[Letter, bool]:
        """Return a letter by the owner of all collections, or one by a stranger."""
        self.sequence += 1
        content = {"effective": effective, "sequence": self.sequence, **what}
        letter = Letter(name.encode(), orjson.dumps(content))
        owner = self.root if signs else None
        return (letter, False) if owner is None else (owner.sign(letter), True)

    def _send_unusable(self, author: str, letter: Letter) -> None:
        with pytest.raises(UnusableChange):
            self.pipeline.change(letter.key, letter.value, letter.headers)
        self.seen[author] += 1

    def _send_costly(self, name: str, letter: Letter, owner: Owner | None) -> None:
        """Send what nobody may ask for, not even an owner; it changes nothing but the number."""
        self.seen["costly"] += 1
        assert letter.value is not None
        signs = owner is not None and self.random.random() < 0.5
        if owner is not None and signs:
            self.sequence += 1
            content = orjson.loads(letter.value) | {"sequence": self.sequence}
            letter = owner.sign(replace(letter, value=orjson.dumps(content)))
        with suppress(UnusableChange):
            self.pipeline.change(letter.key, letter.value, letter.headers)
            if signs:
                self.judge.lives[name].sequence = self.sequence
        self._merge()

    def _send(self, author: str, name: str, wanted: Wanted, letter: Letter) -> None:
        if self.required and not wanted.owner:
            self._send_unusable("not signed", letter)
            return
        try:
            fate = self.judge.lives[name].tell(wanted, self.following)
        except Unclear:
            self.seen["unclear"] += 1
            return
        self.seen[f"{author}, {fate.value}"] += 1
        self.pipeline.change(letter.key, letter.value, letter.headers)
        self._merge()

    def _merge(self) -> None:
        for tick, figure in self.pipeline.released():
            assert tick == self.following
            adapts = self.pipeline.strategy.adapts
            self.judge.tick(tick, self.truth[tick], figure, adapts=adapts)
            self.figures[tick] = figure
            for number in range(len(self.told), len(self.pipeline.changes)):
                self.told[number] = tick
            self.place += 1

    def _cover(self) -> None:
        """Tell now and then that all changes up to an entry are there, the last one or another."""
        log = self.pipeline.log
        if self.random.random() < 0.5:
            self.pipeline.cover(len(log) - self.random.choice([1, 1, 1, 5]))
            self._merge()

    def _disturb(self) -> None:
        """Write a snapshot now and then, lose everything that came after the last one, and find
        entries of the log twice."""
        if self.random.random() < 0.1:
            self.pipeline.log.append(self.random.choice(self.pipeline.log))
            self._merge()
        if self.random.random() < 0.2:
            self.pipeline.save()
        if self.random.random() < 0.1:
            again = self.pipeline.restart()
            assert dict(again).items() <= self.figures.items()
            self.seen["restart"] += 1
