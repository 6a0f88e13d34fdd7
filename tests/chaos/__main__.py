"""`make chaos`: rounds of faults drawn from a seed; exits with 1 at the first that shows."""

import argparse
import signal
import sys
import time
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

from tests.chaos.copies import Store
from tests.chaos.faults import named
from tests.chaos.loads import NAMES, load_of
from tests.chaos.results import EQUAL, add, row
from tests.chaos.rounds import Rounds, plans
from tests.kafka.cluster import Cluster


def main() -> int:
    faults = named()
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", choices=get_args(Store), default="kafka")
    parser.add_argument("--load", choices=NAMES, default="city")
    parser.add_argument("--minutes", type=float, default=60.0, help="play no round after them")
    parser.add_argument("--faults", nargs="+", choices=list(faults), default=list(faults))
    given = parser.parse_args()
    began = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:7.1f} s  {text}", flush=True)

    happened: list[str] = []
    outcome = EQUAL
    chosen = [faults[name] for name in given.faults]
    with TemporaryDirectory(prefix="fugu-chaos-") as folder, Cluster() as cluster:
        load = load_of(given.load, given.rounds, given.seed)
        rounds = Rounds(cluster, Path(folder), load, store=given.store, seed=given.seed)
        try:
            with rounds.running() as running:
                for plan in plans(given.rounds, chosen, given.seed, load.per_round):
                    if time.monotonic() - began > 60 * given.minutes:
                        break
                    say(f"round {plan.number}: {plan}")
                    running.play(plan)
                    happened += [fault.__name__ for _, fault in plan.faults]
                say(f"{len(happened)} rounds are over; waiting, and comparing with a run in peace")
        except AssertionError as found:
            outcome = str(found)
    say(f"seed {given.seed}, store {given.store}, load {given.load}: {outcome}")
    made = row(
        given.store,
        given.load,
        given.seed,
        happened,
        rounds.tally,
        outcome,
        records=len(load.stream.placed),
        rounds=len(happened),
        released=rounds.released,
        came_again=rounds.aborted,
        restarts=rounds.restarts,
    )
    add(made)
    for name, value in asdict(made).items():
        say(f"{name}: {value}")
    return outcome != EQUAL


if __name__ == "__main__":
    sys.exit(main())
