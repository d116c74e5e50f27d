"""What a comparison says: a leaderboard, words, files, pictures."""
