"""Whether a picture can be drawn, before anything is computed for it."""

from importlib.util import find_spec
from pathlib import Path

from fugu.dataflows.base.errors import FuguError

_PICTURES = (".png", ".svg")


def require_picture(plot: Path | None) -> None:
    """Raise `FuguError` unless `--plot` names a file that can be written, or nothing."""
    if plot is None:
        return
    if find_spec("matplotlib") is None:
        raise FuguError("--plot needs matplotlib: pip install 'fugu-streams[audit]'")
    if plot.suffix not in _PICTURES:
        raise FuguError(f"--plot {plot}: the name must end in {' or '.join(_PICTURES)}")
    if not plot.parent.is_dir():
        raise FuguError(f"--plot {plot}: there is no directory {plot.parent}; create it first")
