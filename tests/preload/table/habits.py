"""What Python programs do to files: the habit is the first argument. All of it ends with a line on standard output."""

import concurrent.futures
import hashlib
import mmap
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import threading

BLOCK = bytes(range(256)) * 256  # 64 KiB


def temporary():
    with tempfile.TemporaryDirectory(dir=".") as folder, tempfile.NamedTemporaryFile(dir=folder) as file:
        file.write(BLOCK)
        file.flush()
        shutil.copyfile(file.name, "copy")
    with tempfile.TemporaryFile(dir=".") as file:
        file.write(BLOCK)
    with tempfile.SpooledTemporaryFile(max_size=10, dir=".") as file:
        file.write(BLOCK)


def work(number):
    with open(f"part.{number}", "wb") as file:
        file.write(BLOCK * (number + 1))
    return number * number


def processes(method):
    with multiprocessing.get_context(method).Pool(3) as pool:
        print(pool.map(work, range(6)))


def mapped():
    with open("mapped", "w+b") as file:
        file.truncate(4 * len(BLOCK))
        with mmap.mmap(file.fileno(), 0) as memory:
            memory[:] = BLOCK * 4
            memory.flush()


def kernel_copies():
    with open("source", "wb") as file:
        file.write(BLOCK * 4)
    with open("source", "rb") as source, open("sent", "wb") as target:
        print(os.sendfile(target.fileno(), source.fileno(), 0, len(BLOCK)))
    with open("source", "rb") as source, open("ranged", "wb") as target:
        print(os.copy_file_range(source.fileno(), target.fileno(), 2 * len(BLOCK), 0, 0))
    read_end, write_end = os.pipe()
    with open("source", "rb") as source, open("spliced", "wb") as target:
        print(os.splice(source.fileno(), write_end, 4096), os.splice(read_end, target.fileno(), 4096))
    with open("vectors", "wb", buffering=0) as target:
        print(os.writev(target.fileno(), [b"a" * 1000, b"b" * 24]), os.pwritev(target.fileno(), [b"c" * 1024], 1024))


def threads():
    lock = threading.Lock()

    def write(number):
        with open(f"thread.{number}", "wb", buffering=0) as file:
            for _ in range(20):
                file.write(BLOCK)
        with lock, open("log", "a", encoding="ascii") as log:
            log.write("one more\n")

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        list(pool.map(write, range(24)))


def children():
    for number in range(10):
        subprocess.run(["sh", "-c", f"echo {number} >> log"], check=True, close_fds=number % 2 == 0)
    print(subprocess.run(["cat", "log"], check=True, capture_output=True, text=True, env={}).stdout)
    pid = os.fork()
    if pid == 0:
        with open("forked", "w", encoding="ascii") as file:
            file.write("by the child")
        os._exit(5)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def names():
    """Names that are long, not UTF-8, of several lines, and relative in every way."""
    folder = "d" * 200
    deep = "/".join([folder] * 5)
    os.makedirs(deep)
    for name in (b"line\nbreak", b"\xff\xfe latin", b"-", b" ", b"n" * 255, b"../" + os.fsencode(os.path.basename(os.getcwd())) + b"/up"):
        with open(name, "wb") as file:
            file.write(name)
    directory = os.open(deep, os.O_RDONLY)
    with open(os.open("relative", os.O_WRONLY | os.O_CREAT, dir_fd=directory), "wb") as file:
        file.write(b"relative")
    os.rename("relative", "renamed", src_dir_fd=directory, dst_dir_fd=directory)
    os.chdir(deep)
    with open("./../" + folder + "//.//changed", "wb") as file:
        file.write(b"changed")
    for name in ("x" * 256, "/".join(["y" * 250] * 17), "", "missing/x", "a\tb/c"):
        try:
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT))
        except OSError as error:
            print(len(name), error.errno)


def removed():
    """In a directory that is no more."""
    os.mkdir("gone")
    os.chdir("gone")
    os.rmdir("../gone")
    for flags in (os.O_RDONLY, os.O_WRONLY | os.O_CREAT):
        try:
            os.open("file", flags)
        except OSError as error:
            print(error.errno)
    with open("../found", "wb") if os.path.isdir("..") else tempfile.TemporaryFile() as file:
        file.write(b"above")


if __name__ == "__main__":
    os.umask(0o022)
    habit, *arguments = sys.argv[1:]
    globals()[habit](*arguments)
    print(hashlib.sha256(BLOCK).hexdigest()[:8])
