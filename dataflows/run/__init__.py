"""Run a pipeline: its shards in threads, or several processes under a supervisor."""
