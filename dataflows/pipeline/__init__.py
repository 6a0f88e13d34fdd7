"""Read the pipeline file as typed data, and say what it promises."""
