"""One replay in a process of its own; `python -m tests.privacy.attacks.replay` prints it."""

from tests.privacy.attacks.pipelines import VICTIMS, Record, Seen, Victim

USERS, EACH = 16, 8


def records_of(victim: Victim) -> list[Record]:
    """Return the records that are replayed."""
    return victim.records(USERS, EACH)


def replayed() -> list[Seen]:
    """Everything published for every victim, from the beginning."""
    return [victim.pipeline().publish(records_of(victim)) for victim in VICTIMS]


if __name__ == "__main__":
    print(replayed())
