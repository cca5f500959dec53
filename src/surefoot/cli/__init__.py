"""The command line: words in, words out. Exit codes: 0 holds, 1 refuted, 2 undecided, 3 error."""
