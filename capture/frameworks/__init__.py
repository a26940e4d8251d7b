"""Model code of frameworks that build their own models: how it is made from dimensions, and what their recipes call."""
