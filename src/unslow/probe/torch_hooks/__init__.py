"""The hooks of PyTorch, by what they watch: modules, training, tensors, compilation; the adapter puts them in."""
