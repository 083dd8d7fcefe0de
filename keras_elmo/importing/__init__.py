"""Converts models of other programs, and tells what a folder holds."""
