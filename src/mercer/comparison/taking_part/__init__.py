"""Which models take part, what they see of the table, and how each is tuned."""
