"""Wire sources, stages and sinks to bytewax dataflows, once everything is checked."""
