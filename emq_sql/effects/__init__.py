"""Effects and completion in one transaction."""
