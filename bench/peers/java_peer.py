"""Becomes the JVM of a peer that is written in Java: `java/build` made its jars and classes."""

import os
import sys
from argparse import Namespace
from pathlib import Path

_SETTINGS = (
    # "HotSpot Virtual Machine Garbage Collection Tuning Guide", "Selecting a Collector": the
    # parallel collector where "peak application performance is the first priority".
    "-XX:+UseParallelGC",
    # The same, "Factors Affecting Garbage Collection Performance": equal sizes for predictability.
    "-Xms1g",
    "-Xmx1g",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)


def become(asked: Namespace, main_class: str, *options: str) -> None:
    """Replace this process, so that signals and measurements meet the JVM itself."""
    home, made = os.environ.get("JAVA_HOME"), Path(sys.prefix)
    java = f"{home}/bin/java" if home else "java"
    # RocksDB unpacks its library there, and keeps its files there.
    temporary = f"-Djava.io.tmpdir={os.environ.get('TMPDIR', '/tmp')}"
    classpath = ("-cp", f"{made / 'classes'}:{made / 'jars'}/*")
    told = [word for name, value in vars(asked).items() for word in (f"--{name}", str(value))]
    os.execvp(java, [java, *_SETTINGS, *options, temporary, *classpath, main_class, *told])
