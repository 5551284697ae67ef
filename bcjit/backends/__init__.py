"""Backends: a graph and example inputs in, a callable out; they must not know how graphs are captured."""
