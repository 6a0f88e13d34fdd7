"""Draw the small pictures of a privacy card as inline SVG; all words stand beside them as text."""

from collections.abc import Mapping, Sequence

from fugu.dataflows.offline.card.markup import Markup, element, joined

_WIDTH = 300


def flow(source: str, operator: str, sink: str, refused: str) -> Markup:
    """Draw what goes in and what comes out; texts fold, so they are no part of the drawing."""
    arrow = element(
        "svg",
        element("path", d="M2 10 H30 M22 3 L31 10 L22 17", class_="arrow"),
        viewBox="0 0 34 20",
        aria_hidden="true",
        class_="arrow",
    )
    boxes = (
        _box("private", "goes in", source),
        arrow,
        _box("law", "happens", operator),
        arrow,
        _box("public", "comes out", joined(sink, element("small", refused))),
    )
    return element("div", *boxes, class_="flow")


def _box(kind: str, title: str, content: str) -> Markup:
    return element("div", element("b", title), element("span", content), class_=f"box {kind}")


def bar(before: float, after: float, words: str) -> Markup:
    """Draw a share before, and what is added to it at most."""
    return _svg(
        words,
        _rect(0.0, 1.0, "rest"),
        _rect(0.0, before, "before"),
        _rect(before, after, "added"),
    )


def bound(claim: float, proved: float, exact: float | None, most: float, words: str) -> Markup:
    """Draw what is claimed, what an attack proved, and what is exact."""
    broken = "broken" if proved > claim else "proved"
    parts = [_rect(0.0, claim / most, "rest"), _rect(0.0, proved / most, broken, inset=4)]
    if exact is not None:
        parts.append(_line(exact / most))
    return _svg(words, *parts)


def histogram(counts: Mapping[str, int], words: str) -> Markup:
    """Draw how many there are of each, as bars side by side with their labels."""
    most, width = max(counts.values(), default=0) or 1, _WIDTH / max(1, len(counts))
    parts: list[Markup] = []
    for place, (label, count) in enumerate(counts.items()):
        middle, height = f"{(place + 0.5) * width:.1f}", 60.0 * count / most
        box = {
            "x": f"{place * width + 2:.1f}",
            "y": f"{76 - height:.1f}",
            "width": f"{width - 4:.1f}",
            "height": f"{height:.1f}",
        }
        parts.append(element("rect", class_="before", **box))
        text = {"x": middle, "text_anchor": "middle"}
        parts.append(element("text", f"{count:,}", y=f"{72 - height:.1f}", **text))
        parts.append(element("text", label, y="90", **text))
    return element(
        "svg",
        element("title", words),
        *parts,
        viewBox=f"0 0 {_WIDTH} 96",
        role="img",
        class_="histogram",
    )


def _svg(words: str, *parts: Markup) -> Markup:
    box = {"viewBox": f"0 0 {_WIDTH} 20", "preserveAspectRatio": "none"}
    return element("svg", element("title", words), *parts, role="img", class_="bar", **box)


def _rect(begin: float, end: float, kind: str, inset: int = 0) -> Markup:
    first, last = (_WIDTH * min(1.0, max(0.0, one)) for one in (begin, end))
    box = {"x": f"{first:.1f}", "width": f"{max(0.0, last - first):.1f}"}
    return element("rect", y=str(inset), height=str(20 - 2 * inset), class_=kind, **box)


def _line(at: float) -> Markup:
    x = f"{_WIDTH * min(1.0, max(0.0, at)):.1f}"
    return element("line", x1=x, x2=x, y1="0", y2="20", class_="exact")


def key(entries: Sequence[tuple[str, str]]) -> Markup:
    """Say what the colours of bars mean."""
    parts = (
        element("span", element("i", class_=f"swatch {kind}"), words, class_="entry")
        for kind, words in entries
    )
    return element("p", *parts, class_="key")
