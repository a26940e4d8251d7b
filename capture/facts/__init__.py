"""Facts read from libraries' code: accepted keys, signatures, defaults, what a kernel supports."""
