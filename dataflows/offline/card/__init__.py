"""Write the privacy card: one page that says what pipelines promise, for people."""
