"""Read what every peer is told, and stop it at a signal. Nothing but Python is needed."""

import argparse
import signal


def arguments(*modes: str) -> argparse.Namespace:
    """The command line; `modes` are the values that --mode may have, the default first."""
    parser = argparse.ArgumentParser()
    for name in ("bootstrap", "source", "sink", "model"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--epsilon", type=float, required=True)
    if modes:
        parser.add_argument("--mode", choices=modes, default=modes[0])
    return parser.parse_args()


class Stop:
    """True once SIGTERM came."""

    def __init__(self) -> None:
        self._came = False
        signal.signal(signal.SIGTERM, self._note)

    def __bool__(self) -> bool:
        return self._came

    def _note(self, *_: object) -> None:
        self._came = True
