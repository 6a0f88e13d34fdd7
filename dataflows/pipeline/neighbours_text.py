"""Say in one sentence, written from data, what the neighbouring relation of a promise is."""

from fugu.dataflows.base.durations import duration
from fugu.operators.guarantee import Guarantee, Kept, Neighbours, Per

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
