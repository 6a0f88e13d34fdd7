"""Check that neither a restart nor how records are cut into batches shows in what is published."""

from collections.abc import Sequence

from fugu.dataflows.base.batches import Header, Outgoing
from fugu.dataflows.offline.auditing.audited import ROOT, Check
from fugu.dataflows.offline.auditing.line import Line
from fugu.dataflows.offline.in_memory import AT_ONCE

_FEW = 7
_RESTARTS = 10


def restart_check(line: Line, values: Sequence[Sequence[object]]) -> Check:
    """Publish the same streams twice, once with restarts and in small batches.

    `values` are those of all streams, tick by tick.
    """
    streams, ticks = len(values[0]), len(values)
    same = _published(line, values, AT_ONCE) == _published(line, values, _FEW)
    about = "after restarts, and cut into other batches, the same bytes are published"
    return Check(about, same, f"{streams} streams, {ticks} ticks")


def _published(
    line: Line, values: Sequence[Sequence[object]], at_once: int
) -> list[tuple[bytes | None, bytes, list[Header], int]]:
    """Return key, value, headers and timestamp of all that is published; few at once: restart."""
    running = line.opened(ROOT.derive("restarts"), len(values[0]), at_once=at_once)
    parts, every = list[Outgoing](), 1 + len(values) // _RESTARTS
    for tick, given in enumerate(values, start=1):
        parts.append(running.advance(given))
        if at_once == _FEW and tick % every == 0:
            running.restart()
    if line.end is not None:
        parts.append(running.finish())
    return [
        record
        for out in parts
        for record in zip(out.keys, out.values, out.headers, out.timestamps, strict=True)
    ]
