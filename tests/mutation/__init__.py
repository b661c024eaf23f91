"""The mutation run: deliberate defects, planted one at a time, and who notices each (see README.md here)."""
