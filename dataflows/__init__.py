"""Hold everything that touches the outside: Kafka, bytewax, files, the command line.

The folders are floors of a house: each imports only from those that `FLOORS` names before it.
"""

FLOORS = (
    "base",
    "files",
    "records",
    "kafka",
    "state",
    "stages",
    "policies",
    "kinds",
    "pipeline",
    "publishing",
    "analysis",
    "flows",
    "copies",
    "monitoring",
    "run",
    "offline",
    "commands",
)
