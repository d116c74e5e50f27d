"""A model and a table of a user's: what is asked, which columns it gets, to fit, predict and explain."""
