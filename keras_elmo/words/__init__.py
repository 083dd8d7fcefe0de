"""What a trained model has learnt, by example."""
