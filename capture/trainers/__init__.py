"""The losses of trainers, reduced to what they read, and their graphs."""
