"""A model's forward, run once on fake tensors, becomes a graph with expressions."""
