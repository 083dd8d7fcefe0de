from tests.hostile.models import directory, little_memory, originals, saved_model

__all__ = ["directory", "little_memory", "originals", "saved_model"]
