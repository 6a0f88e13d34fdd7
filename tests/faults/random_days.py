"""Run a pipeline through random everyday events, with an oracle beside it."""

import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from fugu.dataflows.base.errors import StartRefused
from tests.faults.random_events import Place
from tests.kafka.pipelines import (
    ALPHABET,
    RunningPipeline,
    ended,
    running,
    write_pipeline,
)
from tests.kafka.records import NOW, Placed, Record, produce

USERS = 40
"""Count the people that there are at a time."""
RECORDS_PER_NEWCOMER = 20
"""People come and go, so that there are always some whose budget is not spent."""
MOST_PARTITIONS = 9
_STOPS = 5
CHUNK = 90
"""Records of one portion."""


@dataclass
class Days:
    """Hold one pipeline and do to it what happens to pipelines; every event ends with a check."""

    place: Place
    events: int = 0
    log: list[str] = field(default_factory=list)
    _seen: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._write()

    @property
    def pipeline(self) -> Path:
        """Return the present pipeline file."""
        return self.place.directory / "pipeline.yaml"

    def event(self) -> None:
        """Do one event, and check what is there afterwards."""
        names = [name for name, weight in _WEIGHTS.items() for _ in range(weight)]
        name = self.place.random.choice(names) if self.events else "records"
        self.events += 1
        self.place.counts[name] += 1
        self.log.append(name)
        getattr(self, name)()
        self._run()

    def records(self) -> None:
        """Let people send records."""
        self._send(CHUNK)

    def killed(self) -> None:
        """Kill the pipeline while it works, some times in a row."""
        for _ in range(self.place.random.randint(1, 3)):
            with running(self.pipeline, *self._processes()) as process:
                process.wait_until_started()
                self._send(CHUNK)
                time.sleep(self.place.random.uniform(0.0, 0.8))
                process.kill()

    def stopped(self) -> None:
        """Stop the pipeline gracefully in the middle of its work."""
        with running(self.pipeline, *self._processes()) as process:
            process.wait_until_started()
            self._send(CHUNK)
            time.sleep(self.place.random.uniform(0.0, 0.8))
            assert process.stop() == 0, process.stderr

    def extended(self) -> None:
        """Add partitions while the pipeline is stopped; an operator moves the streams."""
        if self.place.partitions < MOST_PARTITIONS:
            self._send(CHUNK // 3)
            self.place.extend(1)
            self._send(CHUNK // 3)
            self._command("state", "repartition", self.pipeline)

    def followed(self) -> None:
        """Add partitions while the pipeline runs, which follows them."""
        if self.place.partitions == MOST_PARTITIONS:
            return
        self.place.document["source"]["partitions"] = "follow"
        self._write()
        with running(self.pipeline, *self._processes()) as process:
            process.wait_until_started()
            self.place.extend(1)
            self._send(CHUNK)
            process.wait_until(lambda: "starting again" in process.stderr)
            if self.place.random.random() < 0.5:
                time.sleep(self.place.random.uniform(0.0, 3.0))
                process.kill()
            else:
                process.wait_until(lambda: process.stderr.count(" partitions in ") >= 2)
                self._stop(process)
        self.place.document["source"]["partitions"] = "fixed"

    def another_partitioner(self) -> None:
        """Let producers change their partitioner before anybody notices."""
        place = self.place
        place.producers_hash = "crc32" if place.producers_hash == "murmur2" else "murmur2"
        self._send(CHUNK // 2)
        self._run()
        place.document["source"]["partitioner"] = place.producers_hash
        self._write()
        self._command("state", "repartition", self.pipeline)

    def other_shards(self) -> None:
        """Deal the partitions out to another number of shards."""
        shards = self.place.random.randint(1, 3)
        self.place.document["state"]["shards"] = shards
        self._write()
        self._command("state", "repartition", self.pipeline)
        self._command("state", "claim", self.pipeline)

    def driven_again(self) -> None:
        """Release what was refused."""
        self._command("redrive", self.pipeline)
        self.place.look()

    def rotated(self) -> None:
        """Change the secret."""
        keys = self.place.directory / f"keys-{self.events}.json"
        self._command("state", "rotate", self.pipeline, "--keys", keys)
        self.place.document["secret"] = {"file": keys.name, "encoding": "keys"}
        self._write()

    def overrun(self) -> None:
        """Let retention remove records that were not read, and go on behind them."""
        place, before = self.place, self.place.ends.copy()
        self._send(CHUNK)
        partition = place.random.randrange(place.partitions)
        first, end = before[partition], place.ends[partition]
        if end > first:
            until = place.random.randint(first + 1, end)
            place.delete_until(partition, until)
            place.oracle.lose(partition, first, until)
            gap = f"{place.source}:{partition}"
            self._command("migrate", self.pipeline, self.pipeline, "--accept-gap", gap)

    def migrated(self) -> None:
        """Change epsilon, law, budget, name or sink."""
        place, random, document = self.place, self.place.random, self.place.document
        before = yaml.safe_load(yaml.safe_dump(document))
        old = self._seen_file()
        kind = random.choice(["grr", "crr"])
        was = document["operator"]["kind"]
        operator = {"kind": kind, "alphabet": ALPHABET, "epsilon": random.choice([0.5, 1.0, 2.0])}
        document["operator"] = operator | ({"model": "model.json"} if kind == "crr" else {})
        factor = 2 if (was, kind) == ("crr", "grr") else 1
        most = factor * max(place.oracle.spent.values(), default=0.0)
        document["budget"]["total"] = max(place.total, most) + random.choice([0.0, 0.0, 3.0])
        document["version"] = document.get("version", 1) + 1
        if random.random() < 0.3:
            document["sink"] = document["sink"] | {"topic": f"{place.source}.out-{self.events}"}
        if random.random() < 0.3:
            document["name"] = f"zones-{self.events}"
        self._write()
        earlier = [part for path in self._seen[:-1] for part in ("--earlier", path)]
        refusal = self._command("migrate", old, self.pipeline, *earlier, may_be_refused=True)
        if refusal is None:
            for key in place.oracle.spent:
                place.oracle.spent[key] *= factor
            return
        place.document = before
        self._seen.pop()
        self._write()
        place.counts[f"migration refused: {refusal}"] += 1

    def _run(self) -> None:
        """Run until every record has come to its end and a replay is over, and stop."""
        for patience in range(_STOPS):
            with running(self.pipeline, *self._processes()) as process:
                process.wait_until_started()
                process.wait_until(self.place.look)
                time.sleep(patience)
                self._stop(process)
            assert self.place.look()
            with suppress(StartRefused):
                return self.place.check_budgets(self.pipeline)
        raise AssertionError("no stop was graceful")

    def _stop(self, process: RunningPipeline) -> None:
        assert process.stop() == 0, process.stderr

    def _processes(self) -> Sequence[str]:
        shards = self.place.document["state"]["shards"]
        return ("--processes", str(shards)) if self.place.random.random() < 0.3 else ()

    def _send(self, count: int) -> None:
        place, placed = self.place, []
        for _ in range(count):
            number = len(place.oracle.sent)
            user = number // RECORDS_PER_NEWCOMER + place.random.randrange(USERS)
            key, moment = b"user-%d" % user, NOW + number
            partition = place.home(key)
            place.oracle.send(moment, key, (partition, place.ends[partition]))
            place.ends[partition] += 1
            value = b'{"zone": "%b"}' % place.random.choice(ALPHABET).encode()
            placed.append(Placed(partition, Record(key, value, timestamp=moment)))
        produce(place.bootstrap, place.source, placed)

    def _command(self, *arguments: str | Path, may_be_refused: bool = False) -> str | None:
        """Run a command, killed inside half of the times before; return why it was refused."""
        if self.place.random.random() < 0.5:
            number = self.place.random.randint(1, 9)
            first = ended(arguments, killed=("renamed", number))
            if first.returncode == -signal.SIGKILL:
                self.place.counts["commands killed inside"] += 1
            elif first.returncode == 0:
                return None
        whole = ended(arguments)
        if may_be_refused and whole.returncode == 1 and "Traceback" not in whole.stderr:
            return " ".join(whole.stderr.split())[:300]
        assert whole.returncode == 0, (arguments, whole.stdout, whole.stderr)
        return None

    def _write(self) -> None:
        write_pipeline(self.place.directory, self.place.document, self.place.model)

    def _seen_file(self) -> Path:
        """Keep the present pipeline file as one of before."""
        path = self.place.directory / f"before-{self.events}.yaml"
        path.write_bytes(self.pipeline.read_bytes())
        self._seen.append(path)
        return path


_WEIGHTS = {
    "records": 2,
    "killed": 4,
    "stopped": 2,
    "extended": 1,
    "followed": 1,
    "another_partitioner": 1,
    "other_shards": 1,
    "driven_again": 2,
    "rotated": 1,
    "overrun": 2,
    "migrated": 3,
}
"""Weigh each event beside the others."""
