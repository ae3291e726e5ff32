"""The benchmarks that are known by name, one module each."""
