"""`make chaos`: rounds of faults drawn from a seed; exits with 1 at the first that shows."""

import argparse
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.chaos.copies import Refused
from tests.chaos.faults import named
from tests.chaos.outcome import Wrong
from tests.chaos.rounds import Rounds, plans
from tests.kafka.cluster import Cluster


def main() -> int:
    faults = named()
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", choices=["disk", "kafka"], default="disk")
    parser.add_argument("--faults", nargs="+", choices=list(faults), default=list(faults))
    given = parser.parse_args()
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:7.1f} s  {text}", flush=True)

    chosen = [faults[name] for name in given.faults]
    with TemporaryDirectory(prefix="fugu-chaos-") as folder, Cluster() as cluster:
        rounds = Rounds(
            cluster, Path(folder), store=given.store, seed=given.seed, rounds=given.rounds
        )
        try:
            with rounds.running() as running:
                for plan in plans(given.rounds, chosen, given.seed):
                    say(f"round {plan.number}: {plan}")
                    running.play(plan)
                say(f"{given.rounds} rounds are over; comparing with a run in peace")
        except (Wrong, Refused) as found:
            say(f"seed {given.seed}, store {given.store}: {found}")
            return 1
        say(
            f"equal, record for record. Copies ended by themselves {rounds.restarts} times;"
            f" {rounds.aborted} releases were aborted and came again, the same bytes"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
