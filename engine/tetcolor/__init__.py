"""Tetcolor Duo, Tetcolor, Columns and Retris (document 002): rules files, kernel, settle machine, notation."""
