"""`python -m bytewax.run` over a pipeline file: python -m tests.faults.bytewax_run run FILE ...."""

import runpy
import sys

if __name__ == "__main__":
    _, _, path, *options = sys.argv
    sys.argv[1:] = [f"fugu.dataflows.run.run:flow({path!r})", *options]
    runpy.run_module("bytewax.run", run_name="__main__")
