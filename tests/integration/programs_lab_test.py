#!/usr/bin/env python3
"""The table of programs, each with and without libiez.so, on a lab: programs_test.py in a mount of its own."""

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
IEZ = os.environ.get("IEZ", str(ROOT / "build/dev/apps/iez/iez"))
TABLE = pathlib.Path(__file__).with_name("programs_test.py")


def lab(verb, folder, *options):
    return subprocess.run([IEZ, "lab", verb, "--dir", folder, *options], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120, check=False)


def main():
    with tempfile.TemporaryDirectory() as folder:
        where = pathlib.Path(folder) / "lab"
        started = lab("up", where, "--name", "table")
        if started.returncode != 0:
            sys.exit(f"iez lab up: {started.stderr}")
        try:
            environment = {**os.environ, "IEZ_TABLE_PLACES": f"lab={where}/mnt/client0"}
            status = subprocess.run([sys.executable, TABLE, *sys.argv[1:]], env=environment, check=False).returncode
        finally:
            stopped = lab("down", where)
        if stopped.returncode != 0:
            sys.exit(f"iez lab down: {stopped.stderr}")
    sys.exit(status)


if __name__ == "__main__":
    main()
