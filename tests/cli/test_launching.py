"""What the terminal shows while a run is executed from it."""

from __future__ import annotations

import os

import pytest

from cli.launching import own_output


def test_what_a_transform_prints_does_not_mix_with_what_the_command_says(
    capfd: pytest.CaptureFixture[str],
) -> None:
    os.write(1, b"before\n")
    with own_output() as terminal:
        os.write(1, b"printed by a transform\n")
        os.write(2, b"logged by Spark\n")
        terminal.write("progress\n")
    os.write(1, b"{}\n")
    os.write(2, b"failed\n")
    assert capfd.readouterr() == ("before\n{}\n", "progress\nfailed\n")
