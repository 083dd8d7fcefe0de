"""Stands in front of the real one, as though it were not installed."""

raise ModuleNotFoundError("No module named 'sklearn'", name="sklearn")
