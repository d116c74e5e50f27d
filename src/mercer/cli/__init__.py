"""The command line, a thin layer over the public functions of mercer."""

__all__ = ["main"]


def main() -> None:
    """Run the program."""
    try:
        from mercer.cli.app import main as run  # slow enough to be interrupted by Ctrl-C
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    run()
