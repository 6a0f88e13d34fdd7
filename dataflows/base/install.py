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

_OWN = "fugu-streams"


def install(extra: str) -> str:
    """Return the command that installs what `extra` adds to this installation."""
    return _of_origin(extra) or shlex.join(["pip", "install", *dict.fromkeys(_packages(extra))])


def _of_origin(extra: str) -> str | None:
    """Return the command that installs Fugu again from where it came, if that is still there."""
    try:
        recorded = distribution(_OWN).read_text("direct_url.json")
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
    return shlex.join(["pip", "install", f"{_OWN}[{extra}] @ {url.geturl()}"])


def _packages(extra: str) -> Iterator[str]:
    """List the requirements of an extra; one that names an extra of Fugu stands for its own."""
    for requirement in requires(_OWN) or []:
        package, _, marker = requirement.partition(";")
        if marker.strip() != f'extra == "{extra}"':
            continue
        own = match(rf"{_OWN}\[([\w,-]+)\]", package)
        if own is None:
            yield package.strip()
            continue
        for other in own[1].split(","):
            yield from _packages(other)
