"""Files that are not collected."""

#: collecting it would import it, and its classes would be among the models of all other tests
collect_ignore = ["_another_package.py"]
