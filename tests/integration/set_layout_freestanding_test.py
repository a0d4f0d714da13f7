#!/usr/bin/env python3
"""The layout setter goes into a preload library, so its object file may need nothing but libc.

usage: set_layout_freestanding_test.py COMPILER SOURCE_DIR
"""

import pathlib
import subprocess
import sys
import tempfile

# Everything the object may take from outside. All of it is in libc.
LIBC = {
    "__errno_location", "close", "fcntl", "fcntl64", "fsetxattr", "fstatfs", "fstatfs64", "getxattr", "ioctl", "memcmp", "memcpy",
    "memset", "mknodat", "openat", "openat64", "setxattr", "strrchr", "unlinkat", "__stack_chk_fail", "__memcpy_chk",
    "_GLOBAL_OFFSET_TABLE_",
}


def undefined_symbols(compiler: str, source_dir: pathlib.Path, level: str, work_dir: str) -> set[str]:
    object_file = pathlib.Path(work_dir) / "set_layout.o"
    subprocess.run(
        [compiler, "-std=c++23", "-fno-exceptions", "-fno-rtti", "-fPIC", level, "-I", source_dir / "src", "-c",
         source_dir / "src/lustre/set_layout.cpp", "-o", object_file],
        check=True, timeout=120)
    listing = subprocess.run(["nm", "-u", object_file], check=True, timeout=60, capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in listing.splitlines() if line.strip()}


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    status = 0
    for level in ("-O0", "-O2"):
        with tempfile.TemporaryDirectory() as work_dir:
            symbols = undefined_symbols(sys.argv[1], pathlib.Path(sys.argv[2]), level, work_dir)
        foreign = sorted(symbols - LIBC)
        print(f"{level}: {len(symbols)} undefined symbols, not from libc: {foreign if foreign else 'none'}")
        status = 1 if foreign or not symbols else status
    return status


if __name__ == "__main__":
    sys.exit(main())
