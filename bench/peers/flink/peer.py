"""Flink in Java: a keyed process function with state in RocksDB, and a checkpoint every second.

Not done here, and done by Fugu: a record that is processed again after a crash is released with
fresh noise (the sink is at-least-once); no release ids, noise without a key, no ledger, no dead
letters: a record that is not as expected ends the program. The cluster is one process.
Better here: exactly-once sinks, event time, windows, joins, SQL, state beyond memory, clusters.
"""

from java_peer import become
from peer_command import arguments

# What Flink's own distribution gives to Java 17 (conf/config.yaml, "env.java.opts.all").
_OPENED = [
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("java.lang", "java.util", "java.util.concurrent", "java.nio")
]

if __name__ == "__main__":
    become(arguments(), "peers.FlinkPeer", *_OPENED)
