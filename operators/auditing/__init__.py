"""Audits of what a mechanism gives away: exact where its law is small, else observed."""
