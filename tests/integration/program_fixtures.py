"""What the rows of program_table.py find in $MADE, made once: programs in bin/, libraries in lib/, and files to work on."""

import ctypes
import os
import pathlib
import random
import shutil
import subprocess

COMPILER = ["gcc", "-O1", "-g", "-Wall", "-D_FORTIFY_SOURCE=2", "-pthread"]
GIT_SETTINGS = """
[user]
name = A U Thor
email = author@example.org
[gc]
auto = 0
[pack]
threads = 1
[safe]
directory = *
"""


def run(command, **options):
    return subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True, timeout=120, **options).stdout


def compile_programs(folder, sources):
    """Those that need what is not here are left out; the rows that run them are skipped."""
    programs = sources / "table"
    for name in ("handlers", "children", "limits"):
        run([*COMPILER, programs / f"{name}.c", "-o", folder / f"bin/{name}"])
    run([*COMPILER, "-static", programs / "children.c", "-o", folder / "bin/static_children"])
    run(["gcc", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", programs / "other_library.c", "-o", folder / "lib/libother.so"])
    for flavour in ("openmpi", "mpich"):
        if shutil.which(f"mpicc.{flavour}"):
            run([f"mpicc.{flavour}", "-O1", sources / "mpi_io.c", "-o", folder / f"bin/mpi_io_{flavour}"])
    if shutil.which("h5repack") and subprocess.run(["pkg-config", "--exists", "hdf5"], check=False).returncode == 0:
        flags = run(["pkg-config", "--cflags", "--libs", "hdf5"]).split()
        run(["gcc", "-O1", programs / "make_hdf5.c", *flags, "-o", folder / "bin/make_hdf5"])


def make_tree(folder):
    """A little of everything that a directory can hold."""
    generator = random.Random(1)
    (folder / "deep/er").mkdir(parents=True)
    (folder / "empty").mkdir(mode=0o700)
    for number in range(12):
        (folder / f"deep/file{number}").write_bytes(generator.randbytes(generator.randrange(20000)))
    (folder / "deep/er/none").touch()
    (folder / "deep/er/script").write_text("#!/bin/sh\necho hello\n", encoding="ascii")
    (folder / "deep/er/script").chmod(0o755)
    (folder / "link").symlink_to("deep/file1")
    (folder / "dangling").symlink_to("nowhere")
    os.link(folder / "deep/file2", folder / "hard")
    with open(folder / "sparse", "wb") as file:
        for start in (0, 1 << 20, 3 << 20):
            file.seek(start)
            file.write(b"data" * 1024)
        file.truncate(4 << 20)
    with open(folder / "attribute", "wb") as file:
        file.write(b"has one")
        try:
            os.setxattr(file.fileno(), "user.table", b"value")
        except OSError:
            pass  # the rows compare what there is


def make_repository(folder, environment):
    git = ["git", "-C", folder]
    folder.mkdir()
    run([*git, "init", "-q", "-b", "main"], env=environment)
    generator = random.Random(2)
    for number in range(15):
        for name in range(4):
            (folder / f"file{name}").write_bytes(b"\n".join(generator.randbytes(12).hex().encode() for _ in range(200)))
        run([*git, "add", "-A"], env=environment)
        run([*git, "commit", "-q", "-m", f"Change {number}"], env=environment)


def make(folder, root, long=False):
    for name in ("bin", "lib", "home"):
        (folder / name).mkdir(parents=True)
    compile_programs(folder, root / "tests/preload")
    (folder / "random").write_bytes(random.Random(3).randbytes(3 << 20))
    generator = random.Random(4)
    with open(folder / "lines", "w", encoding="ascii") as file:
        file.writelines(f"{generator.randrange(10**9)} {number}\n" for number in range(60000))
    make_tree(folder / "tree")
    (folder / "home/.gitconfig").write_text(GIT_SETTINGS, encoding="ascii")
    date = "@1700000000 +0000"
    make_repository(folder / "repository", {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "GIT_AUTHOR_DATE": date,
                                            "GIT_COMMITTER_DATE": date})
    if long and (root / ".git").exists():
        run(["git", "-c", "safe.directory=*", "clone", "-q", "--bare", "--no-hardlinks", root, folder / "project.git"])
    return pathlib.Path(folder)


def takes_direct(folder):
    try:
        os.close(os.open(folder / "probe", os.O_CREAT | os.O_WRONLY | os.O_DIRECT, 0o600))
        return True
    except OSError:
        return False
    finally:
        (folder / "probe").unlink(missing_ok=True)


def has_io_uring():
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(425, 1, ctypes.create_string_buffer(256))
    if fd >= 0:
        os.close(fd)
    return fd >= 0


def require(case, needs, place, made):
    """Skips the test where something is missing: a program, a thing that make() makes, or one of the words below."""
    probes = {"root": lambda: os.geteuid() == 0, "direct": lambda: takes_direct(place), "io_uring": has_io_uring,
              "suid": lambda: not os.statvfs(place).f_flag & os.ST_NOSUID}
    for need in needs:
        there = probes[need]() if need in probes else shutil.which(need) or (made / "bin" / need).exists() or (made / need).exists()
        if not there:
            case.skipTest(f"needs {need}")
