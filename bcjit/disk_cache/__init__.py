"""Compiled kernels on disk, for later processes; it knows nothing of what a kernel is, and imports no backend.

============  ==================================================================
`store`       `DiskCache`: load, store, the bound
`keys`        what the key of a kernel is made of
`sealing`     the format of a file, and the secret that it is authenticated by
`own_files`   files and folders that nobody but this user can have written
`command`     ``python -m bcjit cache``
============  ==================================================================

See ``docs/design/0024-disk-cache.md``. Nothing is imported here: `bcjit.lazy` reads the modules when they are first needed.
"""
