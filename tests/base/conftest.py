"""What the tests of traits need."""

#: collecting it would import it, and its classes would be among the models of all other tests
collect_ignore = ["_another_package.py"]
