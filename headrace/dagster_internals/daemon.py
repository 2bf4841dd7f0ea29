"""Runs Dagster's daemon as a module: unlike the script `dagster-daemon`, that can import from the working directory."""

from dagster._daemon.cli import main

if __name__ == "__main__":
    main()
