"""What a comparison says: a leaderboard, differences, sentences, JSON and Markdown, pictures."""
