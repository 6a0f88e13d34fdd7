"""Write what an audit found, from the output of `fugu audit --json`."""

from collections.abc import Iterator, Mapping
from typing import Any

from fugu.dataflows.offline.card.facts import PipelineFacts
from fugu.dataflows.offline.card.markup import Content, Markup, element, listed, table
from fugu.dataflows.offline.card.pictures import bound, key
from fugu.dataflows.pipeline.guarantee_text import notion_in_words


def about_audit(facts: PipelineFacts) -> Iterator[Markup]:
    """Yield the verdict, exact worst cases, attacks beside what is claimed, and what was left."""
    found = facts.audit
    if found is None:
        yield element(
            "p",
            f"No result was given: fugu audit {facts.file.path.name} --json > audit.json, and then "
            "--audit audit.json.",
        )
        return
    broken = found.get("status") == "broken"
    yield element("p", str(found["verdict"]), class_="alarm" if broken else "good")
    if worst := found.get("worst_cases"):
        yield _worst(worst)
    if isinstance(attacks := found.get("attacks"), list):
        yield from _attacks(found, attacks)
    if left := found.get("not_reached"):
        yield element("h4", "Not looked at")
        yield listed(*map(str, left))


def _worst(cases: list[Mapping[str, Any]]) -> Markup:
    """Show the longest case of each, and whatever is broken."""
    longest = {(one["notion"], one["about"]): one for one in cases}
    shown = [one for one in cases if one["broken"] or one in longest.values()]
    rows: list[list[Content]] = [
        [
            f"{notion_in_words(one['notion'])}: {one['about']}, {one['extent']}",
            f"{one['leaked']:.4g}",
            f"{one['claim']:.4g}",
        ]
        for one in shown
    ]
    caption = "Exact worst cases, over all neighbouring inputs and all outputs: nats"
    return table(caption, ["what is looked at", "given away", "claimed"], rows, 1, 2)


def _attacks(found: Mapping[str, Any], attacks: list[Mapping[str, Any]]) -> Iterator[Markup]:
    effort = found["effort"]
    yield element(
        "p",
        f"Each attack ran the real operator {effort['runs']:,} times on each of two neighbouring "
        "inputs, and looked for what tells them apart. What it proves is a lower bound of what is "
        f"given away; all bounds hold together with confidence {effort['confidence']:g} %. So many "
        f"runs cannot prove more than {found['out_of_reach']:.2f} nats of anything.",
    )
    yield key(
        [("rest", "claimed"), ("proved", "proved, at least"), ("broken", "proved above the claim")]
    )
    most = max([found["out_of_reach"], *(one["claim"] for one in attacks)], default=1.0)
    rows: list[list[Content]] = []
    for one in attacks:
        name = f"{notion_in_words(one['notion'])}: {one['name']}"
        numbers = f"{one['bound']:.3g} of {one['claim']:.3g}"
        picture = bound(one["claim"], one["bound"], one.get("exact"), most, f"{name}: {numbers}")
        rows.append([name, numbers, picture])
    yield table(
        "Attacks: nats proved, of those claimed",
        ["attack", "nats", "proved beside claimed"],
        rows,
        1,
    )
