"""Say why records of a schema are not read."""


class UnusableSchema(ValueError):
    """Report that records of a schema are not read."""
