"""The default scheduler on GPUs: devices, what kernels cost, and the search."""
