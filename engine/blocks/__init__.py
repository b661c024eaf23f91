"""The daily block puzzle (documents 003 and 004): rules files, kernel, notation."""
