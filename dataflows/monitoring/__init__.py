"""Show operators what to watch: metrics from a closed list, health, refused starts."""
