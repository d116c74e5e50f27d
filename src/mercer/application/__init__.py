"""What a user asks of a model and a table, apart from how answers are rendered."""
