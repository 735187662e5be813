"""Recordings: what was written while a script ran, decoded."""
