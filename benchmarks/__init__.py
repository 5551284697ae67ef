"""Benchmarks: scripts that print ratios, and the classes that asv records."""
