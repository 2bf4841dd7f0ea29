"""The files to copy to the hosts where jobs run; jobs report through them."""

from pathlib import Path

FILES = ("headrace_client.py", "headrace.sh", "headrace-run")


def write(folder: Path) -> list[Path]:
    """Write the files, ready to be run, into a folder that is made if need be; which they are.

    Each appears whole, so that a job that runs meanwhile finds the old one or the new one. Raises OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in FILES:
        fresh = folder / f".{name}.new"
        fresh.write_bytes(Path(__file__).with_name(name).read_bytes())
        fresh.chmod(0o755)
        written.append(fresh.replace(folder / name))
    return written
