"""Talk to Kafka: one small client interface, its clients, and the bytewax source and sink."""
