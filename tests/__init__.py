"""The tests of mercer: a package, so that no other `tests` on the path takes its place in programs that tests start."""
