"""`fugu run --processes N`: the shards of one pipeline in N processes, kept running by another."""
