"""What unslow itself costs and leaves unexplained, as ratios of interleaved runs: ``python -m benchmarks.overhead`` and its neighbours."""
