"""A process of Kafka: started by `deploy/kafka/start`, ended, and asked what its log ends with."""

import signal
import subprocess
from pathlib import Path

SCRIPTS = Path(__file__).parents[2] / "deploy" / "kafka"
STOP_SECONDS = 30
LOG_TAIL_LINES = 30


class BrokerError(RuntimeError):
    """Kafka could not be had; the text says what to do."""


def launch(log: Path, *options: str) -> "subprocess.Popen[bytes]":
    """Fetch Kafka if it is not there, and start it with options of `deploy/kafka/start`."""
    fetched = subprocess.run([f"{SCRIPTS}/fetch"], stderr=subprocess.PIPE, text=True)
    if fetched.returncode:
        raise BrokerError(fetched.stderr)
    with log.open("ab") as said:
        return subprocess.Popen(
            [f"{SCRIPTS}/start", *options], stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )


def end(process: "subprocess.Popen[bytes]", how: signal.Signals) -> None:
    """Send a signal, and wait until the process is gone."""
    process.send_signal(how)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise BrokerError(f"Kafka did not stop within {STOP_SECONDS} s: killed it") from None


def last_lines(log: Path) -> list[str]:
    """Return what a process said last."""
    return log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:]


def processor_ticks(pid: int) -> int:
    """Return what a process and its children have used of the processors: whether they get on."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(map(int, fields[11:15])) + sum(processor_ticks(int(child)) for child in children)
