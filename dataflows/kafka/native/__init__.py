"""Read and write by librdkafka's own functions, called from compiled code."""
