"""Captures architecture graphs from the code of transformers and verifies the engine against PyTorch."""
