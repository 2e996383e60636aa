"""Benchmarks beside peers, all in one run: `python -m bench.run`. See docs/benchmarks.md."""
