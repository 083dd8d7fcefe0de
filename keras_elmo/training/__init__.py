"""From a corpus to a pretrained model."""
