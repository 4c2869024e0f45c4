"""Measurements that take long and prove nothing by themselves: their results stand in `docs/benchmarks.md`."""
