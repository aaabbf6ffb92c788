"""Jobs of engineers over a corpus, larger than tests: each a module with a command."""
