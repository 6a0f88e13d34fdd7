"""Write HTML: every text is escaped, unless it is markup already."""

from html import escape


class Markup(str):
    """Hold HTML that is complete."""

    __slots__ = ()


Content = str | None
"""Text, markup, or nothing."""


def element(name: str, *content: Content, **attributes: str) -> Markup:
    """Return an element; a trailing `_` of an attribute's name is dropped, others are hyphens.

    >>> element("p", "a < b", element("b", "c"), class_="note", aria_label="d")
    '<p class="note" aria-label="d">a &lt; b<b>c</b></p>'
    """
    named = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
    )
    return Markup(f"<{name}{named}>{joined(*content)}</{name}>")


def joined(*content: Content) -> Markup:
    """Return parts one after the other."""
    shown = (part if isinstance(part, Markup) else _escaped(part) for part in content if part)
    return Markup("".join(shown))


def _escaped(text: str) -> str:
    """Keep a number and its per cent sign in one line."""
    return escape(text).replace(" %", "&nbsp;%")


def listed(*lines: Content, name: str = "ul") -> Markup:
    """Return a list."""
    return element(name, *(element("li", line) for line in lines))


def defined(entries: dict[str, Content]) -> Markup:
    """Return names with what they are."""
    parts = (
        element("div", element("dt", name), element("dd", told)) for name, told in entries.items()
    )
    return element("dl", *parts)


def table(caption: str, columns: list[str], rows: list[list[Content]], *numeric: int) -> Markup:
    """Return a table; the first cell of each row names it, and columns `numeric` are numbers.

    It may be wider than a page: then it is moved sideways, also by keys.
    """
    head = element("tr", *(_heading(name, at in numeric) for at, name in enumerate(columns)))
    body = [
        element(
            "tr",
            element("th", row[0], scope="row"),
            *(_cell(cell, at in numeric) for at, cell in enumerate(row[1:], 1)),
        )
        for row in rows
    ]
    whole = element(
        "table",
        element("caption", caption),
        element("thead", head),
        element("tbody", *body),
    )
    return element("div", whole, class_="wide", tabindex="0", role="group", aria_label=caption)


def _heading(name: str, number: bool) -> Markup:
    return element("th", name, scope="col", class_="number" if number else "text")


def _cell(content: Content, number: bool) -> Markup:
    return element("td", content, class_="number" if number else "text")
