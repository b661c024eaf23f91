"""The rules of the games: pure functions over numbers, arrays and bytes.

Nothing in this package opens a file of the lake, reads a clock or keeps state between calls.  Every game has its rules as
data (``engine/<game>/<version>.toml``), one kernel source, and two ways to run it: compiled over whole columns and
interpreted for one game.
"""

ENGINE_VERSION = "1.0.0"
