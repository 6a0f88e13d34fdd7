"""Seeded rounds of faults over a running pipeline, whose topics must equal those of peace."""
