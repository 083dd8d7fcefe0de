"""The layers, assembled."""
