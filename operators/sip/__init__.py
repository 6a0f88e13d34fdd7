"""Sequence Information Privacy (Jiang, Li and Tandon 2024), as corrected by the specification."""
