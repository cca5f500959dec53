"""The words that all other rooms use: procedures, tasks, counts, results, claims, limits."""
