"""Work without a running pipeline: evaluate, audit, compute leakage, show a demo."""
