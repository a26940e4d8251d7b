"""Which families are captured, and how to draw their config keys."""
