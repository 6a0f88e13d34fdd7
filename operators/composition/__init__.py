"""What promises about the same data let out together: by which account, and which have no sum."""
