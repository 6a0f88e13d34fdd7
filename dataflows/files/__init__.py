"""Read and check the files that a pipeline names: YAML, models, alphabets, points, matrices."""
