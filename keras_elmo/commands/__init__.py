"""The command line, one file a subcommand: `add` says its options, `run` runs it."""
