"""Tetromino Arcade (document 000): rules files, kernel, notation."""
