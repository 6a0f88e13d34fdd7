"""Digests of fixed runs, kept in `pins.json`.

`python -m tests.pins` runs all of them and adds the digests that are missing, such as those of a
new kind. It refuses to replace a digest, unless the run is named: `--change crr grr`.

If the digest of a kind changes, its releases changed: raise its `implementation`, which changes the
law digest too. With `arithmetic/kernels`, raise the number in the `identity` of the kernel; with
`noise`, the `implementation` of every mechanism with noise.
"""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path

from tests.conformance.kinds import KINDS
from tests.operators import fixed_run, fixed_streams
from tests.operators.noise import fixed_run as fixed_noise
from tests.operators.responses import test_randomized_response

Digests = Mapping[str, str]

PINS = Path(__file__).with_suffix(".json")
RUNS: Mapping[str, Callable[[], str]] = {
    **{kind: partial(fixed_streams.digest, kind) for kind in KINDS},
    "arithmetic/default": fixed_run.of_defaults,
    "arithmetic/kernels": fixed_run.of_other_kernels,
    "arithmetic/chains": fixed_run.of_other_chains,
    "noise": fixed_noise.digest,
    "responses": test_randomized_response.fixed_run,
}


class Refused(Exception):
    """Says which digests would be replaced or dropped."""


def pinned() -> dict[str, str]:
    """Return the recorded digests by the names of their runs."""
    digests: dict[str, str] = json.loads(PINS.read_text())
    return digests


def updated(known: Digests, found: Digests, change: Collection[str] = ()) -> dict[str, str]:
    """Return the digests that were found, if they keep all known ones but those to change."""
    differs = {name for name, digest in known.items() if found.get(name) != digest} - {*change}
    if differs:
        raise Refused(f"differs: {', '.join(sorted(differs))}; nothing is written (see --change)")
    return dict(sorted(found.items()))


def main() -> None:
    parser = ArgumentParser(prog="python -m tests.pins", description="Pin the runs that are new.")
    parser.add_argument("--change", nargs="+", default=[], metavar="NAME", choices=sorted(RUNS))
    change = parser.parse_args().change
    try:
        digests = updated(pinned(), {name: run() for name, run in RUNS.items()}, change)
    except Refused as refused:
        sys.exit(str(refused))
    PINS.write_text(json.dumps(digests, indent=2) + "\n")


if __name__ == "__main__":
    main()
