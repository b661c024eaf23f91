"""Figures of speed and memory, as ratios against something run in the same process or minute; never asserted in tests."""
