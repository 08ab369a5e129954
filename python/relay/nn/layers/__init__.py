"""The layers, with PyTorch's names, parameters and first values."""
