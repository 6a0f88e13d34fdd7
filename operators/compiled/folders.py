"""Find folders for compiled code, which are named after the text of all files that it is made of.

Code is read from every folder, also from those that cannot be written to, such as a folder of an
image; it is written into the first one that can be. Folders in `FUGU_CACHE_DIR` (several between
colons) and `NUMBA_CACHE_DIR` stand alone. Else they are beside the package, below the home, and if
neither can be written to, in one of this user among temporary files.
"""

import os
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from stat import S_ISDIR
from tempfile import TemporaryFile, gettempdir

_HERE = Path(__file__).parent
_OPERATORS = _HERE.parent
_DATAFLOWS = _OPERATORS.parent / "dataflows"
_CONSTANTS = [
    _OPERATORS / "budget_units.py",
    _OPERATORS / "columns.py",
    _OPERATORS / "digests.py",
    _OPERATORS / "randomness.py",
    _OPERATORS / "sip" / "batches" / "sequence_law.py",
    _OPERATORS / "sip" / "hamming_kernel.py",
    _OPERATORS / "sip" / "integer_law.py",
    _OPERATORS / "sip" / "markov_model.py",
    _OPERATORS / "sip" / "privacy_bound.py",
    _DATAFLOWS / "base" / "columns.py",
]
"""Files elsewhere that say what compiled code is made with."""
_FOLDERS = [_HERE, _DATAFLOWS / "kafka" / "native", _DATAFLOWS / "records" / "scanned"]
"""Folders in which every file is about compiled code; elsewhere, files are named so."""
_OF_OTHERS = 0o077
"""Mask the bits of a mode that let others do something with a folder."""


def folders() -> tuple[Path, ...]:
    """Return where code of this version is looked for, in this order."""
    configured = [
        name
        for variable in ("FUGU_CACHE_DIR", "NUMBA_CACHE_DIR")
        for name in os.environ.get(variable, "").split(os.pathsep)
        if name
    ]
    return _folders(tuple(configured))


def kept_in() -> Path | None:
    """Return the first folder that can be written to; None if none can be."""
    return next((folder for folder in folders() if _is_writable(folder)), None)


def found() -> int:
    """Return how many functions have code in any of the folders."""
    return len({(path.parent.name, path.name) for one in folders() for path in _code(one)})


def warm() -> Path | None:
    """Return the first folder that holds code."""
    return next((folder for folder in folders() if _code(folder)), None)


def described() -> str:
    """Say where compiled code is kept, and whether there is any, in words for people."""
    if (held := warm()) is not None:
        return f"kept in {held}; what it lacks is compiled, once, for up to a minute"
    folder = kept_in()
    if folder is None:
        return (
            "can be kept nowhere, so that every start compiles for up to a minute; "
            "set FUGU_CACHE_DIR to a folder that can be written to"
        )
    return f"compiling for this machine, once, for up to a minute; kept in {folder}"


def sources() -> list[Path]:
    """Return all files that compiled code is made of."""
    # Each folder by itself: it may be a link, which a search does not follow.
    named = [path for top in (_OPERATORS, _DATAFLOWS) for path in top.rglob("compiled_*.py")]
    inside = [path for folder in _FOLDERS for path in folder.glob("[!_]*.py")]
    return [*sorted({*named, *inside}), *_CONSTANTS]


@cache
def _folders(configured: tuple[str, ...]) -> tuple[Path, ...]:
    name = f"fugu-{_version()}"
    if configured:
        return tuple(Path(folder).absolute() / name for folder in configured)
    usual = [_HERE / "__pycache__" / name]
    caches = os.environ.get("XDG_CACHE_HOME")
    with suppress(RuntimeError):  # whom the machine does not know has no home
        usual.append((Path(caches) if caches else Path.home() / ".cache") / name)
    if not any(_is_writable(folder) for folder in usual):
        usual += [own / name for own in _own_temporary()]
    return tuple(usual)


def _own_temporary() -> list[Path]:
    """Return a folder that nobody else can write to: what is read from it is run."""
    own = Path(gettempdir()) / f"fugu-{os.getuid()}"
    try:
        own.mkdir(mode=0o700, exist_ok=True)
        found = own.lstat()
    except OSError:
        return []
    private = found.st_uid == os.getuid() and not found.st_mode & _OF_OTHERS
    return [own] if private and S_ISDIR(found.st_mode) else []


@cache
def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _code(folder: Path) -> list[Path]:
    # A folder of somebody else cannot be looked into.
    try:
        return list(folder.glob("*/*.nbi"))
    except OSError:
        return []


@cache
def _version() -> str:
    content = blake2b(digest_size=8)
    for path in sources():
        content.update(path.read_bytes())
    return content.hexdigest()
