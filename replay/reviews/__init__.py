"""What people decide about flagged games: uphold, clear, note, undo; kept for ever, and found again by every night.

``model`` says what follows from decisions, ``store`` keeps them, ``games`` finds the game that one is about, ``words`` says all
of it in plain words.
"""
