"""Behaviour cases, and how many nodes bcjit captures in each: the floors, which may only rise."""
