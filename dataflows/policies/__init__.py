"""Read policies of Swellfish privacy as people write them: what to hide, when, and how much."""
