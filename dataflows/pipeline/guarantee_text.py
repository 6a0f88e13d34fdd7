"""Say guarantees in words, and what they mean for somebody who guesses."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from math import ceil, exp, isinf, sqrt
from statistics import NormalDist

from fugu.dataflows.base.ticks import duration
from fugu.dataflows.pipeline.config import Pipeline
from fugu.operators.budget_units import in_nats
from fugu.operators.composition.spend import Spend
from fugu.operators.guarantee import (
    Composition,
    GaussianLoss,
    Guarantee,
    Kept,
    LaplaceLoss,
    Loss,
    Neighbours,
    Notion,
    Per,
    ResponseLoss,
)
from fugu.operators.noise.gaussian import VARIANCE
from fugu.operators.sip.guarantees import A_MODEL_OF_A_SET

_OTHERS = {
    "contribution": "another contribution",
    "symbol": "other symbols",
    "number": "other numbers of the range",
    "tick": "other ticks",
}
_PLACES: dict[Kept, str] = {"offset": "its place", "timestamp": "its timestamp"}
_SECRETS = (
    "every single secret that a policy of a person states: that the ticks of one pattern within "
    "one relevance interval are other than they are, each by no more than its threshold; the whole "
    "output of the stream, over its whole life, tells that apart by no more than epsilon"
)


def protected_in_words(guarantee: Guarantee) -> str:
    """Say, to follow the word `protecting`, what may differ of whom, and what stays."""
    neighbours = guarantee.neighbours
    match neighbours.change:
        case "believed":
            return f"the sequence of true {neighbours.what}s of one {neighbours.whose}"
        case "stated":
            return _SECRETS
        case "delayed":
            by = "number of" if neighbours.reach is None else f"0 to {neighbours.reach}"
            return (
                f"the original {neighbours.what} of each value, which is published unchanged, "
                f"delayed by a random {by} ticks"
            )
        case _:
            return f"{_subject(guarantee)}, {_changed(neighbours)}, {_kept(neighbours)}"


def per_in_words(
    per: Per, window: int | None, tick_milliseconds: int | None = None, counted: str = "ticks"
) -> str:
    """Return what epsilon counts, to follow the word `per`."""
    match per:
        case "release":
            return "release"
        case "window":
            return f"window of {_ticks(window, tick_milliseconds, 'consecutive ', counted)}"
        case "period":
            return f"aligned period of {_ticks(window, tick_milliseconds)}"
        case "interval":
            return "relevance interval"
        case "stream":
            return "stream, over its whole life"


def counted_in_windows(guarantee: Guarantee) -> str:
    """Return what a window counts: ticks, or, of single streams without any, records."""
    alone = guarantee.neighbours.whose == "stream" and guarantee.tick_milliseconds is None
    return "records" if alone else "ticks"


def _ticks(
    number: int | None,
    tick_milliseconds: int | None,
    consecutive: str = "",
    counted: str = "ticks",
) -> str:
    assert number is not None
    ticks = f"{number} {consecutive}{counted}" if number > 1 else f"1 {counted[:-1]}"
    if tick_milliseconds is None:
        return ticks
    if number == 1:
        return f"{ticks} of {duration(tick_milliseconds)}"
    each, whole = duration(tick_milliseconds), duration(number * tick_milliseconds)
    return f"{ticks} of {each} ({whole})"


def _subject(guarantee: Guarantee) -> str:
    neighbours, person = guarantee.neighbours, guarantee.neighbours.whose == "person"
    things = f"{neighbours.what}s of one {neighbours.whose}"
    match guarantee.per:
        case "stream":
            return "everything that one person contributes" if person else f"all {things}"
        case "release":
            return (
                "what one person contributes to one release"
                if person
                else f"the {things} that one release{_of(guarantee.records)} is about"
            )
        case _:
            what = "what one person contributes" if person else f"the {things}"
            which = "one" if guarantee.per == "period" else "any"
            return f"{what} within {which} such {guarantee.per}"


def _of(records: int) -> str:
    return f" of {records} records" if records > 1 else ""


def _changed(neighbours: Neighbours) -> str:
    match neighbours.change:
        case "presence":
            return (
                "of which any part may be there or absent, but no "
                f"{neighbours.what} may take the place of another one"
            )
        case "replaced-or-none":
            return f"of which any part may be replaced by {_OTHERS[neighbours.what]} or by none"
        case _:
            return f"of which any part may be replaced by {_OTHERS[neighbours.what]}"


def _kept(neighbours: Neighbours) -> str:
    stays = "presence" in neighbours.kept
    kept = " and ".join(words for name, words in _PLACES.items() if name in neighbours.kept)
    if stays:
        return f"while every record keeps {kept}" if kept else "while every record stays"
    others = f", and each of the others keeps {kept}" if kept else ""
    return f"while records may be added or removed{others}"


_NOTIONS = {
    "sip": "Sequence Information Privacy",
    "ldp": "Local Differential Privacy",
    "dp": "Differential Privacy",
    "anonymity": "Anonymity of records with a sensitive value",
    "delay-law": "Delay law",
    "w-event-dp": "Differential Privacy of windows (w-event)",
    "w-event-ldp": "Local Differential Privacy of windows (w-event)",
    "swellfish": "Swellfish Privacy",
}
_COMPOSITIONS: dict[Composition, str] = {
    "none": "no theorem composes releases: publish a source and key once",
    "total": "this is the composed privacy loss of all releases of a stream",
    "releases": (
        "unbounded under sequential composition: n releases of one stream have at most n times "
        "epsilon{delta}"
    ),
    "windows": "unbounded under sequential composition of windows",
    "intervals": (
        "a combination of secrets that c relevance intervals cover is protected with c times "
        "epsilon, and all secrets of a stream are unbounded under sequential composition"
    ),
}


def in_words(guarantee: Guarantee) -> str:
    """Say in a few sentences what is promised, about what, against whom, and how it composes."""
    told = parts_in_words(guarantee)
    clauses = (f", {title} {told[title]}" for title in ("protecting", "against") if title in told)
    rest = (told[title] for title in ("because", "accounting", "composition") if title in told)
    sentences = [told["promise"] + "".join(clauses), *rest]
    return " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences)


def parts_in_words(guarantee: Guarantee) -> dict[str, str]:
    """Say the same part by part, each under its title."""
    notion = notion_in_words(guarantee.notion)
    if guarantee.notion == "anonymity" and guarantee.sound:
        return _anonymity_in_words(guarantee)
    if not guarantee.sound or isinf(guarantee.epsilon):
        return {"promise": f"{notion}: no bound is promised", "because": str(guarantee.proof)}
    if guarantee.total_delta >= 1.0:
        return {
            "promise": f"{notion}: no bound is promised",
            "because": f"it would be {stated(guarantee)}: no delta below 1 covers finite precision",
        }
    optional = {
        "privacy loss": _loss_in_words(guarantee.loss),
        "accounting": "; ".join(map(str, guarantee.accounting)),
    }
    return {
        "promise": f"{notion} with {stated(guarantee)}",
        "protecting": protected_in_words(guarantee),
        "against": str(guarantee.adversary),
        **{title: words for title, words in optional.items() if words},
        "composition": _COMPOSITIONS[guarantee.composition].format(
            delta=" and delta" if guarantee.total_delta > 0.0 else ""
        ),
        "proof": str(guarantee.proof),
    }


def _anonymity_in_words(guarantee: Guarantee) -> dict[str, str]:
    """Say what holds for each window, where no epsilon bounds what is learned."""
    width = guarantee.tick_milliseconds
    each = "each window" if width is None else f"each window of {duration(width)}"
    return {
        "promise": f"{notion_in_words(guarantee.notion)}, for {each}; no epsilon bounds what a "
        "release tells",
        "against": str(guarantee.adversary),
        "bounds": "; ".join(map(str, guarantee.accounting)),
        "composition": "windows do not compose: each promise is about one window",
        "proof": str(guarantee.proof),
    }


def _loss_in_words(loss: Loss | None) -> str:
    """Say what is known besides epsilon and delta: nothing, or the law that the loss is of."""
    match loss:
        case GaussianLoss():
            ratio = rounded_up(sqrt(loss.squares / VARIANCE), digits=4)
            return (
                f"at most that of a Gaussian mechanism with mu = {ratio}, but for the part of "
                "delta that finite precision takes"
            )
        case LaplaceLoss():
            return (
                f"that of discrete Laplace noise, moved by {loss.shift:,} steps of "
                f"at most {rounded_up(loss.rate, digits=4)} nats each"
            )
        case ResponseLoss():
            return f"that of randomized response among {loss.symbols:,} symbols"
        case _:
            return ""


def stated(guarantee: Guarantee) -> str:
    """Say epsilon, the whole delta that goes with it, and per what."""
    counted = counted_in_windows(guarantee)
    per = per_in_words(guarantee.per, guarantee.window, guarantee.tick_milliseconds, counted)
    return figures_in_words(
        guarantee.epsilon, guarantee.total_delta, per, guarantee.delta_per_release
    )


def figures_in_words(epsilon: float, delta: float, per: str, delta_per_release: float) -> str:
    """Say the same of figures that are no promise of one pipeline."""
    rest = rest_in_words(delta_per_release)
    return f"epsilon {epsilon:.6g} nats{delta_in_words(delta)} per {per}{rest}"


def delta_in_words(delta: float) -> str:
    """Say delta after an epsilon: nothing where it is 0, else rounded up to three digits."""
    return f" and delta {rounded_up(delta)}" if delta > 0.0 else ""


def rest_in_words(delta_per_release: float) -> str:
    """Say the delta of releases whose number has no bound."""
    if delta_per_release == 0.0:
        return ""
    return f" (and a delta of {rounded_up(delta_per_release)} for every release)"


def rounded_up(bound: float, digits: int = 3) -> str:
    """Write a delta, or another bound, rounded up to so many digits."""
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(repr(bound)))
    return f"{float(rounded):g}"


def notion_in_words(notion: Notion) -> str:
    """Return the full name of a notion."""
    return _NOTIONS.get(notion, notion)


def pipeline_not_covered(pipeline: Pipeline) -> list[str]:
    """Return what the pipeline around the mechanism leaves open."""
    open_points = ["offsets and reasons of refused records, in the dead-letter topic"]
    if pipeline.source.partitioner == "unchecked":
        open_points.append(
            "a user whose records arrive in several partitions (source.partitioner is unchecked): "
            "each partition counts the user as a stream of its own"
        )
    open_points += pipeline.operator.not_covered(
        copies=pipeline.source.dedupe is None,
        budget=pipeline.budget is not None,
        partials=pipeline.partials_topic,
    )
    if pipeline.ledger is None:
        open_points.append("what other pipelines release about the same source (ledger is not set)")
        open_points.append(
            "a start under this name with an empty state and new topics (ledger is not "
            "set): nothing shows then what was released before, so what the source still holds is "
            "released a second time"
        )
    else:
        open_points.append(
            "what pipelines release about the same source that are not in the ledger "
            f"{pipeline.ledger.topic}"
        )
    if pipeline.sink.key == "original":
        open_points.append("who a release is about: sink.key is original, keys are published")
    return open_points


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
    """Return the worked example of a promise; it has no figures where nothing limits a guess.

    Two possibilities are neighbours in the sense of the promise, and equally likely before. Half of
    all guesses between them are right without a release. After releases under (epsilon, delta) at
    most a share (e^epsilon + delta) / (e^epsilon + 1) of them is, whatever is concluded. Under the
    loss of a Gaussian mechanism with mu that share is the normal distribution function at mu / 2.
    Several releases, windows or intervals lose together what `composition.sums` says: where a
    release depends on data of other windows, too, squares grow with the square of their number.

    Source: Wasserman and Zhou 2010 (differential privacy as a test of two hypotheses); Dong, Roth
    and Su 2022, section 2 (trade-off functions).
    """
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
