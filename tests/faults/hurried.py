"""`fugu`, whose group misses it early, and whose state begins new generations early.

    python -m tests.faults.hurried ARGUMENTS

So a takeover and a compaction happen within the time of a test.
"""

from fugu.dataflows.commands.cli import fugu
from fugu.dataflows.kafka.native.settings import MEMBER
from fugu.dataflows.state import changelog, row_log

SESSION_SECONDS = 2.0
EARLY_GENERATION_BYTES = 4_096


def hurry() -> None:
    """Change this process."""
    session = int(SESSION_SECONDS * 1000)
    MEMBER.update({"session.timeout.ms": session, "heartbeat.interval.ms": session // 10})
    row_log._SMALL_BYTES = changelog._LEAST_GENERATION_BYTES = EARLY_GENERATION_BYTES


def main() -> None:
    """Run the command of the arguments."""
    hurry()
    fugu.main()


if __name__ == "__main__":
    main()
