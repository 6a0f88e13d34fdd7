"""Say how to install what an extra of Fugu adds, with names that pip finds.

Fugu itself may come from a checkout or a wheel that no package index has. Its requirements are on
the index, so they are named one by one, unless pip recorded where Fugu came from.
"""

import shlex
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path
from re import match
from urllib.parse import unquote, urlsplit

import orjson

_WHOLE, _SMALL = "fugu-streams", "fugu-analysis"


def install(extra: str) -> str:
    """Return the command that installs what `extra` adds to this installation."""
    own = _installed()
    return _of_origin(own, extra) or shlex.join(
        ["pip", "install", *dict.fromkeys(_packages(own, extra))]
    )


def _installed() -> str:
    """Return the name of the distribution that is here: the whole one, or the one for analysts."""
    try:
        distribution(_WHOLE)
    except PackageNotFoundError:
        return _SMALL
    return _WHOLE


def _of_origin(own: str, extra: str) -> str | None:
    """Return the command that installs Fugu again from where it came, if that is still there."""
    try:
        recorded = distribution(own).read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    if recorded is None:
        return None
    origin = orjson.loads(recorded)
    url = urlsplit(str(origin.get("url", "")))
    path = Path(unquote(url.path))
    if url.scheme != "file" or not path.exists():
        return None
    if origin.get("dir_info", {}).get("editable"):
        return shlex.join(["pip", "install", "--editable", f"{path}[{extra}]"])
    return shlex.join(["pip", "install", f"{own}[{extra}] @ {url.geturl()}"])


def _packages(own: str, extra: str) -> Iterator[str]:
    """List the requirements of an extra; one that names an extra of Fugu stands for its own."""
    for requirement in requires(own) or []:
        package, _, marker = requirement.partition(";")
        if marker.strip() != f'extra == "{extra}"':
            continue
        others = match(rf"{own}\[([\w,-]+)\]", package)
        if others is None:
            yield package.strip()
            continue
        for other in others[1].split(","):
            yield from _packages(own, other)
