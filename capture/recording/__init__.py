"""Records a model's forward and turns it into a graph with expressions."""
