"""A person's own script on a CUDA device that is not there: every storage is followed from birth to death."""
