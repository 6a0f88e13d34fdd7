"""Kafka Streams in Java: a processor with a state store, in RocksDB and in a changelog topic.

`--mode at-least-once`: its default guarantee. `--mode exactly-once`: offsets, changelog and
releases in one transaction a second, so that read-committed consumers see every release once.

Not done here, and done by Fugu: a record that is processed again after a crash is released with
fresh noise (at least once: consumers see both; exactly once: read-uncommitted consumers do); no
release ids, noise without a key, no ledger, no dead letters: a record that is not as expected ends
the program.
Better here: joins, windows, interactive queries, standby replicas, rebalancing between machines.
"""

from java_peer import become
from peer_command import arguments

if __name__ == "__main__":
    become(arguments("at-least-once", "exactly-once"), "peers.KafkaStreamsPeer")
