"""A mechanism that remembers its steps, so that each can be replayed without the rest of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from operators.mechanism import Draws, Guarantee, Inputs, Mechanism, Releases, State, Words
from operators.randomness import KeyedDraws


@dataclass(frozen=True)
class Asked:
    """One call of `Draws.words`, and what it returned."""

    purpose: str
    binding: Sequence[bytes]
    coordinates: int
    count: int
    words: Words

    def ask(self, draws: Draws) -> Words:
        """The same call again."""
        return draws.words(
            self.purpose, self.binding, coordinates=self.coordinates, count=self.count
        )


@dataclass(frozen=True)
class RecordingDraws:
    """Real draws, with a note of every call."""

    draws: Draws
    calls: list[Asked] = field(default_factory=list)

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        """The words of the real draws."""
        words = self.draws.words(purpose, binding, coordinates=coordinates, count=count)
        self.calls.append(Asked(purpose, binding, coordinates, count, words))
        return words


@dataclass(frozen=True)
class KnownDraws:
    """Draws that cost nothing: they were made before."""

    calls: Mapping[str, Words]

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        """The words that were recorded for this purpose."""
        return self.calls[purpose]


@dataclass(frozen=True)
class Step:
    """One call of `Mechanism.step`."""

    before: State
    inputs: Inputs
    keys: Sequence[bytes]
    positions: Sequence[bytes]
    calls: list[Asked]
    after: State

    @property
    def known_draws(self) -> KnownDraws:
        """Its draws, ready made."""
        return KnownDraws({call.purpose: call.words for call in self.calls})


@dataclass(frozen=True)
class Recording:
    """The mechanism inside, with a note of every step."""

    mechanism: Mechanism
    steps: list[Step] = field(default_factory=list)

    kind: ClassVar[str] = "recording"
    implementation: ClassVar[int] = 1

    def start(self, rows: int) -> State:
        """As the mechanism does."""
        return self.mechanism.start(rows)

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        """As the mechanism does."""
        assert isinstance(draws, KeyedDraws)
        recording = RecordingDraws(draws)
        after, releases = self.mechanism.step(state, inputs, recording)
        keys, positions = draws.stream_keys, draws.positions
        self.steps.append(Step(state, inputs, keys, positions, recording.calls, after))
        return after, releases

    def guarantees(self) -> tuple[Guarantee, ...]:
        """As the mechanism does."""
        return self.mechanism.guarantees()

    def audit(self) -> Mapping[str, object]:
        """As the mechanism does."""
        return self.mechanism.audit()

    def law_digest(self) -> bytes:
        """As the mechanism does."""
        return self.mechanism.law_digest()
