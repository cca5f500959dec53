"""A stored run in the words and formats of other people's documents."""
