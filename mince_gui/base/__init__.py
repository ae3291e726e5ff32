"""base: what every room may use: errors, events, cancel, canonical JSON and hashes, atomic files, paths.

Comes in: nothing of the project. Goes out: small, Qt-free building blocks.
May import: the standard library and platformdirs.
"""
