"""What the interpreters of peers see of the harness: standard library only."""
