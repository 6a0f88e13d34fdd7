"""Recognise states that a former version of a mechanism wrote."""
