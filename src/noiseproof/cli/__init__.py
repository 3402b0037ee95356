"""The command line: one file per verb, torch loaded only by the verbs that need it."""
