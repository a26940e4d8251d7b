"""Truth of runs on many ranks: the libraries' own sharding on fake CUDA tensors under torch's fake process group."""
