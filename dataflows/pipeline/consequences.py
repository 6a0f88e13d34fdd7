"""Say what a promise means for a guess: how often somebody who knows everything else is right.

Two possibilities are neighbours in the sense of the promise, and equally likely before. Half of all
guesses between them are right without a release. After releases under (epsilon, delta) at most a
share (e^epsilon + delta) / (e^epsilon + 1) of them is, whatever is concluded. Under the loss of a
Gaussian mechanism with mu that share is the normal distribution function at mu / 2. Several
releases, windows or intervals lose together what `composition.sums` says: where a release depends
on data of other windows, too, squares grow with the square of their number.

Source: Wasserman and Zhou 2010 (differential privacy as a test of two hypotheses); Dong, Roth and
Su 2022, section 2 (trade-off functions).
"""

from dataclasses import dataclass
from math import ceil, exp, isinf, sqrt
from statistics import NormalDist

from fugu.operators.budget_units import in_nats
from fugu.operators.composition.spend import Spend
from fugu.operators.guarantee import Guarantee, Per
from fugu.operators.noise.gaussian_account import VARIANCE
from fugu.operators.sip.guarantees import A_MODEL_OF_A_SET

SEVERAL = 10
"""The number of releases, windows or intervals that are looked at together."""
_LARGEST_EXPONENT = 700.0
_BELIEVED = 0.1
"""The belief before a release that is followed to the belief after it."""
_HARDLY_A_LIMIT = 0.99
_UNITS: dict[Per, tuple[str, str]] = {
    "release": ("one release", "releases of the same stream"),
    "window": ("one window", "windows, none of which overlap"),
    "period": ("one period", "periods"),
    "interval": ("one relevance interval", "relevance intervals"),
    "stream": ("all releases of a whole life", ""),
}


@dataclass(frozen=True)
class Guess:
    """Hold how often a guess is right, or how much is believed: before, and after at most."""

    about: str
    before: float
    after: float

    @property
    def in_words(self) -> str:
        """Say the same in a sentence."""
        hardly = ", which is hardly a limit" if self.after >= _HARDLY_A_LIMIT else ""
        before, after = per_cent(self.before), per_cent(self.after)
        return f"{self.about}: {before} without releases, at most {after} with them{hardly}"


@dataclass(frozen=True)
class Consequence:
    """Say what a promise means in a worked example, with the figures of it."""

    words: str
    guesses: tuple[Guess, ...] = ()


def consequence_of(guarantee: Guarantee) -> Consequence:
    """Return the worked example of a promise; it has no figures where nothing limits a guess."""
    if guarantee.notion == "anonymity" and guarantee.sound:
        return Consequence(
            "No number limits what a guess gains. What holds is counted in people: see the bounds."
        )
    if not guarantee.sound or isinf(guarantee.epsilon) or guarantee.total_delta >= 1.0:
        return Consequence("Nothing limits what a release gives away.")
    match guarantee.notion:
        case "sip":
            return _believed(guarantee)
        case "delay-law":
            after = right(guarantee.epsilon / 2.0, guarantee.total_delta)
            return Consequence(
                "Somebody who sees when one value was released, and nothing else, guesses which of "
                "two times it came at. Both were equally likely before. Whoever knows or infers "
                "more about the values may be right more often, up to always.",
                (Guess("right about one value seen alone", 0.5, after),),
            )
    return Consequence(
        "Two possibilities differ in what is protected, and are equally likely to somebody who "
        "knows everything else. Without the releases half of all guesses between them are right.",
        tuple(_right(guarantee, number) for number in _numbers(guarantee)),
    )


def right(epsilon: float, delta: float) -> float:
    """Return the largest share of right guesses between two neighbours.

    >>> round(right(1.0, 0.0), 4), right(0.0, 0.0), right(5000.0, 0.0)
    (0.7311, 0.5, 1.0)
    """
    odds = exp(min(epsilon, _LARGEST_EXPONENT))
    return min(1.0, (odds + delta) / (odds + 1.0))


def per_cent(share: float) -> str:
    """Write a share, rounded up to a tenth of a per cent.

    >>> per_cent(0.7311), per_cent(0.5), per_cent(0.99991)
    ('73.2 %', '50 %', '100 %')
    """
    return f"{ceil(round(share * 1000.0, 9)) / 10.0:g} %"


def _numbers(guarantee: Guarantee) -> tuple[int, ...]:
    return (1,) if guarantee.per == "stream" else (1, SEVERAL)


def _about(guarantee: Guarantee, number: int) -> str:
    one, several = _UNITS[guarantee.per]
    return one if number == 1 else f"{number} {several}"


def _right(guarantee: Guarantee, number: int) -> Guess:
    spend = Spend.of(guarantee).times(number, apart=guarantee.tick_by_tick)
    after = right(in_nats(spend.epsilon), float(spend.delta))
    if noise := spend.loss.noise:
        squares = sum(times * loss.squares for loss, times in noise.items())
        beside = float(spend.loss.beside)
        after = min(after, NormalDist().cdf(sqrt(squares / VARIANCE) / 2.0) + beside)
    return Guess(f"right about {_about(guarantee, number)}", 0.5, after)


def _believed(guarantee: Guarantee) -> Consequence:
    whose = "the declared model"
    if guarantee.adversary.name.startswith(A_MODEL_OF_A_SET):
        whose = "one model within the declared intervals, whichever,"
    words = (
        f"Take what {whose} holds for {per_cent(_BELIEVED)} likely. Somebody who "
        "believes in exactly this model, and in nothing else, believes it at most so much more "
        "after the releases. It says nothing of others, for whom the figure without a model holds."
    )
    if guarantee.total_delta > 0.0:
        return Consequence(words)
    found = tuple(
        Guess(
            f"believed after {_about(guarantee, number)}",
            _BELIEVED,
            min(1.0, _BELIEVED * exp(min(number * guarantee.epsilon, _LARGEST_EXPONENT))),
        )
        for number in _numbers(guarantee)
    )
    return Consequence(words, found)
