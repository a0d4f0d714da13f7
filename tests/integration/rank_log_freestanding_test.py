#!/usr/bin/env python3
"""Logs are written, and brought into their file, inside of other people's programs: all that takes may need nothing but libc.

usage: rank_log_freestanding_test.py COMPILER SOURCE_DIR
"""

import pathlib
import re
import subprocess
import sys
import tempfile

# All of the module but what makes sentences of problems.
NEEDS_MORE = {"log_check.cpp", "log_report.cpp"}


def libraries_needed(compiler: str, source_dir: pathlib.Path, level: str, work_dir: pathlib.Path) -> list[str]:
    """Links what there is with the C library alone; undefined symbols fail."""
    sources = sorted(path for path in (source_dir / "src/rank_log").glob("*.cpp")
                     if not path.name.endswith("_test.cpp") and path.name not in NEEDS_MORE)
    assert len(sources) > 5, sources
    objects = []
    for source in sources:
        objects.append(work_dir / f"{source.stem}.o")
        subprocess.run([compiler, "-std=c++23", "-fno-exceptions", "-fno-rtti", "-fPIC", level, "-I", source_dir / "src", "-c", source, "-o",
                        objects[-1]], check=True, timeout=120)
    library = work_dir / "library.so"
    subprocess.run([compiler, "-nodefaultlibs", "-shared", "-Wl,-z,defs", *objects, "-lc", "-lgcc", "-o", library], check=True, timeout=120)
    listing = subprocess.run(["readelf", "-d", library], check=True, timeout=60, capture_output=True, text=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", listing)


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    status = 0
    for level in ("-O0", "-O2"):
        with tempfile.TemporaryDirectory() as folder:
            needed = libraries_needed(sys.argv[1], pathlib.Path(sys.argv[2]), level, pathlib.Path(folder))
        print(f"{level}: needs {needed}")
        status = 1 if [name for name in needed if not name.startswith("libc.so")] else status
    return status


if __name__ == "__main__":
    sys.exit(main())
