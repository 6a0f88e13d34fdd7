"""Judge every figure by brute force, whoever changed policies before it."""

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

from fugu.operators.swellfish.relevance import Status
from tests.privacy.policies.household import Figure
from tests.privacy.policies.life import Life
from tests.privacy.policies.neighbours import Secret, most_ticks, worst_loss
from tests.privacy.policies.people import Somebody
from tests.privacy.policies.questions import Question

UNITS = 2**40
"""Charges are whole numbers of such parts of a nat."""
EPSILON = 1.0


@dataclass
class Judge:
    """Judge figures one after the other, and in the end what intervals were charged."""

    lives: dict[str, Life]
    question: Question
    people: list[Somebody] = field(default_factory=list)
    charges: dict[int, int] = field(default_factory=dict)
    kept: dict[tuple[str, Secret], int] = field(default_factory=dict)
    """The secrets that were open, and how many of their ticks neighbours could change at first."""
    seen: Counter[str] = field(default_factory=Counter)

    def largest_change(self, tick: int) -> int:
        """Return by how much anybody can change a tick, whichever collection they have."""
        people = (life.secrets() for life in self.lives.values())
        return max(self.question.change(person, tick) for person in people)

    def tick(
        self, tick: int, truth: tuple[int, ...], figure: Figure, *, adapts: bool = True
    ) -> None:
        """Judge the figure of a tick; `adapts`: noise is for what can change in it."""
        change = self.largest_change(tick)
        hidden = any(one.is_open(tick) for life in self.lives.values() for one in life.secrets())
        if adapts:
            assert figure.sensitivity == change
        else:
            assert figure.sensitivity == (self.question.most if hidden else 0)
        self.seen[figure.status.name.lower()] += 1
        if figure.sensitivity == 0:
            assert (figure.status, figure.values) == (Status.EXACT, truth)
            return
        assert figure.status in (Status.SAMPLED, Status.REPEATED, Status.NOTHING)
        self.seen["hidden"] += change > 0
        if figure.status == Status.SAMPLED:
            noise = figure.standard_error * figure.publication
            assert noise >= 2**0.5 * change * (1 - 1e-3) > 0 or change == 0
        for somebody in self.people:
            mine = somebody.secrets(self.lives)
            assert self.question.change(mine, tick) <= figure.sensitivity
        self.charges[tick] = int(Fraction(figure.charge) * UNITS)
        self._keep_open(tick)

    def _keep_open(self, tick: int) -> None:
        for name, life in self.lives.items():
            person = life.secrets()
            for one in person:
                if one.is_open(tick) and (name, one) not in self.kept:
                    self.kept[name, one] = most_ticks(person, one.start, one.end)

    def finish(self) -> None:
        """Judge what all intervals that opened were charged, where neighbours differ."""
        for (name, secret), affected in self.kept.items():
            person = self.lives[name].secrets()
            assert most_ticks(person, secret.start, secret.end) <= affected
            lost = worst_loss(person, secret.start, secret.end, self.charges)
            assert lost <= EPSILON * UNITS
            self.seen["intervals"] += 1
            self.seen["nearly used up"] += lost > 0.8 * UNITS
        for somebody in self.people:
            mine = somebody.secrets(self.lives)
            for secret in mine:
                if any(secret.is_open(tick) for tick in self.charges):
                    lost = worst_loss(mine, secret.start, secret.end, self.charges)
                    assert lost <= EPSILON * UNITS
                    self.seen["intervals of people who move"] += len(somebody.moves) > 1
        for life in self.lives.values():
            for loss in life.losses:
                if loss.is_covered():
                    self.seen["replaced"] += 1
                    continue
                assert loss.secret.start >= loss.now + life.notice
                assert loss.wanted.owner or not life.owned
                self.seen["lost after the notice"] += 1
