"""What an operator can watch: metrics from a closed list, health, refused starts."""
