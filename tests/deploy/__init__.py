"""What is deployed beside Fugu."""
