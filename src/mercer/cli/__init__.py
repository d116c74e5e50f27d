"""The command line: parse, call, print."""

__all__ = ["main"]


def main() -> None:
    """Run the program."""
    try:
        from mercer.cli.app import main as run  # which takes long enough for Ctrl-C
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    run()
