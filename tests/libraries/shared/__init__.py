"""What the programs over libraries share; it runs on PyTorch and on rushlight alike."""
