"""Passes over graphs of any dialect."""
