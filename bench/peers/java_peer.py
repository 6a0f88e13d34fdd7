"""Becomes the JVM of a peer that is written in Java: `java/build` made its jars and classes."""

import os
import sys
from pathlib import Path

from peer_command import arguments

# "HotSpot Virtual Machine Garbage Collection Tuning Guide", "Selecting a Collector": the parallel
# collector where "peak application performance is the first priority".
_TUNING = ("-Xms1g", "-Xmx1g", "-XX:+UseParallelGC")
_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"


def become(main_class: str, *options: str, modes: tuple[str, ...]) -> None:
    """Replace this process, so that signals and measurements meet the JVM itself."""
    asked = arguments(*modes)
    home, made = os.environ.get("JAVA_HOME"), Path(sys.prefix)
    java = f"{home}/bin/java" if home else "java"
    # RocksDB unpacks its library there, and keeps its files there.
    temporary = f"-Djava.io.tmpdir={os.environ.get('TMPDIR', '/tmp')}"
    classpath = f"{made / 'classes'}:{made / 'jars'}/*"
    told = [word for name, value in vars(asked).items() for word in (f"--{name}", str(value))]
    os.execvp(
        java, [java, *_TUNING, _QUIET, *options, temporary, "-cp", classpath, main_class, *told]
    )
