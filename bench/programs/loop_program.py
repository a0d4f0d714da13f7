#!/usr/bin/env python3
"""What programs do to their files that `iez workload` does not: files of their own behind one another, many small ones, appends,
files that are renamed when they are whole, two shared files at once. Prints the seconds of each phase as `iez workload --json` does.

usage: loop_program.py KIND FOLDER PROCESSES FILES KIB
"""

import json
import os
import sys
import time

PIECE = 1 << 18
SMALL = 4096


def write(fd, size, offset=0):
    data = b"x" * min(PIECE, size)
    end = offset + size
    while offset < end:
        offset += os.pwrite(fd, data[:end - offset], offset)


def put(path, size, sync=True):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    write(fd, size)
    if sync:
        os.fsync(fd)
    os.close(fd)


def serial(folder, _process, _processes, files, size):
    """One file after the other."""
    for i in range(files):
        put(f"{folder}/part{i:04}", size)


def small(folder, process, processes, files, size):
    """Many files that are not worth a sync."""
    for i in range(process, files, processes):
        put(f"{folder}/small{i:05}", size, sync=False)


def mixed(folder, process, _processes, files, size):
    """A large file of each process, and small ones beside it."""
    put(f"{folder}/field{process:04}", size)
    for i in range(files):
        put(f"{folder}/note{process:04}.{i:03}", SMALL, sync=False)


def append(folder, _process, _processes, files, size):
    """A journal: short records behind one another, some of which must be on disk before the next."""
    fd = os.open(f"{folder}/journal", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    record = b"x" * size
    for i in range(files):
        os.write(fd, record)
        if i % 10 == 9:
            os.fsync(fd)
    os.close(fd)


def rename(folder, process, _processes, files, size):
    """A file gets its name when it is whole."""
    for i in range(files):
        path = f"{folder}/state{process:04}.{i:03}"
        put(path + ".part", size)
        os.rename(path + ".part", path)


def shared(folder, process, _processes, files, size):
    """Every process has its block of every file."""
    fds = [os.open(f"{folder}/shared{i}", os.O_WRONLY | os.O_CREAT, 0o600) for i in range(files)]
    for fd in fds:
        write(fd, size, process * size)
    for fd in fds:
        os.fsync(fd)
        os.close(fd)


def failing(folder, process, _processes, files, size):
    """It has written when it fails."""
    for i in range(files):
        put(f"{folder}/half{process:04}.{i:03}", size)


KINDS = {kind.__name__: kind for kind in (serial, small, mixed, append, rename, shared, failing)}


def main():
    kind, folder = sys.argv[1], sys.argv[2]
    processes, files, size = (int(word) for word in sys.argv[3:6])
    size *= 1024
    go_read, go_write = os.pipe()
    children = []
    for process in range(processes):
        pid = os.fork()
        if pid == 0:
            os.close(go_write)
            os.read(go_read, 1)  # until all are there
            KINDS[kind](folder, process, processes, files, size)
            sys.exit(0)
        children.append(pid)
    os.close(go_read)
    begun = time.monotonic()
    os.close(go_write)
    worst = max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children)
    seconds = time.monotonic() - begun
    print(json.dumps({"phases": [{"access": "write", "repetition": 0, "total_s": seconds}]}))
    sys.exit(1 if worst != 0 or kind == "failing" else 0)


if __name__ == "__main__":
    main()
