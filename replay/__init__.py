"""What is done with the rules: records, verification, verdicts, the lake, standings, disputes and the command line."""
