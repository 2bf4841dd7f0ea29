"""The files to copy to the hosts where jobs run, with which jobs report."""

from pathlib import Path

FILES = ("headrace_client.py", "headrace.sh", "headrace-run")


def write(folder: Path) -> list[Path]:
    """Write the executable files into a folder, created if needed; returns them.

    Each is replaced atomically, so that a running job finds the old one or the new one. Raises OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in FILES:
        fresh = folder / f".{name}.new"
        fresh.write_bytes(Path(__file__).with_name(name).read_bytes())
        fresh.chmod(0o755)
        written.append(fresh.replace(folder / name))
    return written
