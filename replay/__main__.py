"""``python -m replay`` is ``replay``."""

from replay.cli import main

main()
