"""Say guarantees in words."""

from decimal import ROUND_CEILING, Context, Decimal
from math import isinf, sqrt

from fugu.dataflows.base.durations import duration
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.pipeline.neighbours_text import (
    counted_in_windows,
    per_in_words,
    protected_in_words,
)
from fugu.operators.guarantee import Composition, Guarantee, Notion
from fugu.operators.loss import GaussianLoss, LaplaceLoss, Loss, ResponseLoss
from fugu.operators.noise.gaussian_account import VARIANCE

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
