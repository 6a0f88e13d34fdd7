"""Name the stages that run operators, so that a section can say which one runs its kind."""

from enum import Enum


class StageKind(Enum):
    """Tell how records of a stream are brought to a mechanism."""

    PER_RECORD = "per record"
    DISPLACED = "displaced in time, per record or per tick"
    SERIES = "one number per tick"
    AGGREGATE = "figures over all users, per tick"
