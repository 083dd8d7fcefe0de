"""A page that shows what a trained model knows of a word in its sentence."""
