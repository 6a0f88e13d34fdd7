"""Run `fugu demo`: the whole path on an embedded broker, with a stream whose truth is known."""
