"""What PyTorch and the libraries themselves allocate for drawn runs, and the receipts of it."""
