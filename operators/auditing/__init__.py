"""What a mechanism really gives away: exact where its law is small, observed where it is not."""
