#!/usr/bin/env python3
"""iez lab: files over real processes. Bytes against a model, two mounts, what a file system must do, faults, kill -9, up and down."""

import errno
import fcntl
import json
import mmap
import os
import pathlib
import random
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
IEZ = os.environ.get("IEZ", str(ROOT / "build/dev/apps/iez/iez"))
CAN_MOUNT = os.path.exists("/dev/fuse") and shutil.which("fusermount3") is not None
MIB = 1 << 20
KIB = 1 << 10
CALLS = 120  # seconds


def iez(*arguments, check=True, **options):
    result = subprocess.run([IEZ, "lab", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=CALLS,
                            stdin=subprocess.DEVNULL, **options)
    if check and result.returncode != 0:
        raise AssertionError(f"iez lab {arguments}: {result.returncode}: {result.stderr}")
    return result


def mounted(path):
    table = pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    return any(line.split()[4] == str(path) for line in table.splitlines())


def processes_of(folder):
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"serve" in words and str(folder).encode() in words:
            found.append(int(entry.name))
    return found


def lov_request(count, size, osts=()):
    """What setting `lustre.lov` takes: v1, or the magic with a list of OSTs."""
    pattern = 0x201 if len(set(osts)) < len(osts) else 1
    head = struct.pack("<IIQQIHH", 0x0BD50BD0 if osts else 0x0BD10BD0, pattern, 0, 0, size, count, 0xFFFF)
    if not osts:
        return head
    return head + bytes(16) + b"".join(struct.pack("<QQII", 0, 0, 0, ost) for ost in osts)


def make_with_layout(path, count, size, osts=()):
    os.mknod(path, stat.S_IFREG | 0o644)
    os.setxattr(path, "lustre.lov", lov_request(count, size, osts))


def osts_of(path):
    value = os.getxattr(path, "lustre.lov")
    count = struct.unpack_from("<H", value, 28)[0]
    start = 48 if struct.unpack_from("<I", value, 0)[0] == 0x0BD30BD0 else 32
    return [struct.unpack_from("<I", value, start + 24 * i + 20)[0] for i in range(count)]


class Lab:
    """A lab in a folder of its own, which ends with the test."""

    def __init__(self, *options):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="iez-lab-")) / "lab"
        try:
            self.up(*options)
        except BaseException:
            self.down()
            raise

    def up(self, *options):
        return iez("up", "--dir", self.folder, *options)

    def mount(self, client=0):
        return self.folder / f"mnt/client{client}"

    def fault(self, *words):
        return iez("fault", "--dir", self.folder, *words)

    def status(self):
        return json.loads(iez("status", "--dir", self.folder, "--json").stdout)

    def df(self):
        return json.loads(iez("df", "--dir", self.folder, "--json").stdout)["osts"]

    def pid(self, node):
        return next(row["pid"] for row in self.status()["nodes"] if row["node"] == node)

    def down(self):
        if (self.folder / "lab.json").exists():
            iez("down", "--dir", self.folder)
        shutil.rmtree(self.folder.parent, ignore_errors=True)


class Case(unittest.TestCase):
    maxDiff = None

    def assert_errno(self, expected, call, *arguments, **options):
        with self.assertRaises(OSError) as caught:
            call(*arguments, **options)
        self.assertEqual(caught.exception.errno, expected, os.strerror(caught.exception.errno))


@unittest.skipUnless(CAN_MOUNT, "no FUSE here")
class OneLab(Case):
    """Tests that share a lab with two mounts and no model of a disk."""

    @classmethod
    def setUpClass(cls):
        cls.lab = Lab("--name", "t", "--oss", "2", "--osts", "3", "--clients", "2", "--ost-size", "64M")
        cls.a = cls.lab.mount(0)
        cls.b = cls.lab.mount(1)

    @classmethod
    def tearDownClass(cls):
        cls.lab.down()


class Bytes(OneLab):
    def test_random_bytes_over_two_mounts(self):
        """Layouts, offsets and mounts at random, against a bytearray."""
        for seed in range(6):
            with self.subTest(seed=seed):
                rng = random.Random(seed)
                name = f"random{seed}"
                osts = [rng.randrange(6) for _ in range(rng.randint(1, 6))]
                make_with_layout(self.a / name, len(osts), rng.choice((64, 128, 192, 1024)) * KIB, osts)
                self.check_file(rng, name)
                self.assertEqual(osts_of(self.b / name), osts)

    def check_file(self, rng, name):
        model = bytearray()
        files = [os.open(mount / name, os.O_RDWR) for mount in (self.a, self.b)]
        try:
            for step in range(60):
                fd = rng.choice(files)
                at = rng.randrange(3 * MIB)
                length = rng.choice((1, 100, 4096, 70000, 300000, MIB + 12345))
                if rng.random() < 0.5:
                    data = rng.randbytes(length)
                    self.assertEqual(os.pwrite(fd, data, at), length)
                    if len(model) < at:
                        model.extend(bytes(at - len(model)))
                    model[at:at + length] = data
                elif rng.random() < 0.15:
                    os.ftruncate(fd, at)
                    del model[at:]
                    model.extend(bytes(at - len(model)))
                else:
                    self.assertEqual(os.pread(fd, length, at), bytes(model[at:at + length]), (step, at, length))
                self.assertEqual(os.fstat(rng.choice(files)).st_size, len(model), step)
        finally:
            for fd in files:
                os.close(fd)
        for mount in (self.a, self.b):
            self.assertEqual((mount / name).read_bytes(), bytes(model))

    def reads_of(self, client):
        """How often a mount has read from OSTs, of all files, up to now."""
        now = time.time()
        path = next((self.lab.folder / f"params/client{client}").glob("sys/kernel/debug/lustre/llite/*/stats"))
        while True:
            text = path.read_text(encoding="utf-8")
            if float(re.search(r"snapshot_time +([0-9.]+)", text)[1]) > now:
                found = re.search(r"(?m)^read_bytes +(\d+) samples", text)
                return int(found[1]) if found else 0
            time.sleep(0.05)

    def test_what_was_written_is_kept(self):
        """Also by the first write of an object, which waits for its lock, and until another mount writes there."""
        make_with_layout(self.a / "kept", 3, 64 * KIB)
        data = bytearray(os.urandom(6 * 64 * KIB))
        fd = os.open(self.a / "kept", os.O_RDWR)
        for at in range(0, len(data), 64 * KIB):
            os.pwrite(fd, data[at:at + 64 * KIB], at)
        before = self.reads_of(0)
        self.assertEqual(os.pread(fd, len(data), 0), data)
        self.assertEqual(self.reads_of(0), before)
        # A page that is written in part, by turns: what is not written is the other one's.
        with open(self.b / "kept", "r+b", buffering=0) as other:
            for turn in range(20):
                other.seek(turn * 50)
                other.write(bytes([turn + 1]) * 50)
                data[turn * 50:(turn + 1) * 50] = bytes([turn + 1]) * 50
                os.pwrite(fd, bytes([turn + 101]) * 50, 2000 + turn * 50)
                data[2000 + turn * 50:2050 + turn * 50] = bytes([turn + 101]) * 50
                self.assertEqual(os.pread(fd, 4096, 0), data[:4096], turn)
        os.close(fd)
        self.assertGreater(self.reads_of(0), before)
        self.assertEqual((self.b / "kept").read_bytes(), data)

    def test_mapping(self):
        data = os.urandom(300000)
        path = self.a / "mapped"
        path.write_bytes(data)
        with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as view:
            self.assertEqual(view[:], data)
            view[1000:1005] = b"hello"
            view[299990:299995] = b"there"
            view.flush()
            expected = bytearray(data)
            expected[1000:1005] = b"hello"
            expected[299990:299995] = b"there"
            self.assertEqual((self.b / "mapped").read_bytes(), bytes(expected))
            with open(self.b / "mapped", "r+b") as other:
                other.seek(5000)
                other.write(b"from elsewhere")
            self.assertEqual(view[5000:5014], b"from elsewhere")

    def test_direct(self):
        make_with_layout(self.a / "direct", 4, 64 * KIB)
        buffer = mmap.mmap(-1, MIB)
        buffer[:] = os.urandom(MIB)
        fd = os.open(self.a / "direct", os.O_RDWR | os.O_DIRECT)
        self.assertEqual(os.writev(fd, [buffer]), MIB)
        again = mmap.mmap(-1, MIB)
        self.assertEqual(os.preadv(fd, [again], 0), MIB)
        os.close(fd)
        self.assertEqual(again[:], buffer[:])
        self.assertEqual((self.b / "direct").read_bytes(), buffer[:])

    def test_appends_of_two_mounts_do_not_meet(self):
        (self.a / "log").touch()
        lines = 200

        def append(mount, letter):
            fd = os.open(mount / "log", os.O_WRONLY | os.O_APPEND)
            for i in range(lines):
                os.write(fd, f"{letter}{i:06}\n".encode())
            os.close(fd)

        threads = [threading.Thread(target=append, args=pair) for pair in ((self.a, "a"), (self.b, "b"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for mount in (self.a, self.b):
            found = (mount / "log").read_text(encoding="ascii").splitlines()
            self.assertEqual(len(found), 2 * lines)
            for letter in "ab":
                self.assertEqual([line for line in found if line[0] == letter], [f"{letter}{i:06}" for i in range(lines)])

    def test_writers_of_one_file(self):
        """Neighbouring ranges from both mounts at once, which share pages and stripes."""
        make_with_layout(self.a / "shared", 3, 64 * KIB)
        piece = 1000
        count = 300

        def write(mount, first):
            fd = os.open(mount / "shared", os.O_RDWR)
            for i in range(first, count, 2):
                os.pwrite(fd, bytes([i % 251]) * piece, i * piece)
            os.close(fd)

        threads = [threading.Thread(target=write, args=pair) for pair in ((self.a, 0), (self.b, 1))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expected = b"".join(bytes([i % 251]) * piece for i in range(count))
        for mount in (self.a, self.b):
            self.assertEqual((mount / "shared").read_bytes(), expected)

    def test_everybody_at_once(self):
        """Readers, writers and mappings of one file on both mounts: nobody waits for ever, and both see the same in the end."""
        make_with_layout(self.a / "contended", 3, 64 * KIB)
        size = MIB
        os.truncate(self.a / "contended", size)
        deadline = time.monotonic() + 2

        def work(number, mount):
            rng = random.Random(number)
            with open(mount / "contended", "r+b", buffering=0) as file, mmap.mmap(file.fileno(), size) as view:
                while time.monotonic() < deadline:
                    at = rng.randrange(size - 100000)
                    length = rng.choice((1, 4096, 100000))
                    if number == 3 and rng.random() < 0.3:
                        view[at:at + length] = bytes([number]) * length
                    elif rng.random() < 0.5:
                        os.pwrite(file.fileno(), bytes([number]) * length, at)
                    else:
                        os.pread(file.fileno(), length, at)

        threads = [threading.Thread(target=work, args=(i, (self.a, self.b)[i % 2])) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            self.assertFalse(thread.is_alive())
        self.assertEqual((self.a / "contended").read_bytes(), (self.b / "contended").read_bytes())

    def test_holes_and_blocks(self):
        path = self.a / "sparse"
        with open(path, "wb") as file:
            file.seek(10 * MIB)
            file.write(b"x")
        state = path.stat()
        self.assertEqual(state.st_size, 10 * MIB + 1)
        self.assertLess(state.st_blocks * 512, MIB)
        self.assertEqual(path.read_bytes(), bytes(10 * MIB) + b"x")
        path.write_bytes(bytes([1]) * MIB)
        self.assertGreaterEqual((self.b / "sparse").stat().st_blocks * 512, MIB)


class FileSystem(OneLab):
    """What it claims, call by call."""

    def setUp(self):
        self.here = self.a / self.id().rsplit(".", 1)[-1]
        self.here.mkdir()
        self.there = self.b / self.here.name

    def test_names(self):
        path = self.here / "x"
        path.touch()
        self.assert_errno(errno.EEXIST, os.open, path, os.O_CREAT | os.O_EXCL)
        self.assert_errno(errno.EEXIST, os.mkdir, path)
        self.assert_errno(errno.ENOENT, os.open, self.here / "none", os.O_RDONLY)
        self.assert_errno(errno.ENOTDIR, os.open, path / "below", os.O_RDONLY)
        self.assert_errno(errno.ENAMETOOLONG, os.open, self.here / ("n" * 256), os.O_CREAT | os.O_WRONLY)
        odd = os.fsencode(self.here) + b"/\xff\n" + b"y" * 200
        os.close(os.open(odd, os.O_CREAT | os.O_WRONLY))
        self.assertEqual(sorted(os.listdir(os.fsencode(self.there))), sorted([b"x", b"\xff\n" + b"y" * 200]))
        os.unlink(odd)
        self.assert_errno(errno.ENOENT, os.unlink, odd)
        self.assert_errno(errno.EISDIR, os.open, self.here, os.O_WRONLY)

    def test_folders(self):
        sub = self.here / "sub"
        sub.mkdir()
        (sub / "x").touch()
        self.assertEqual(self.here.stat().st_nlink, 3)
        self.assert_errno(errno.ENOTEMPTY, os.rmdir, sub)
        (self.there / "sub/x").unlink()
        sub.rmdir()
        self.assertEqual(self.here.stat().st_nlink, 2)
        self.assert_errno(errno.ENOENT, os.rmdir, sub)
        names = {f"n{i}" for i in range(1000)}
        for name in names:
            (self.here / name).touch()
        self.assertEqual(set(os.listdir(self.there)), names)
        self.assertEqual({entry.name for entry in os.scandir(self.here) if entry.is_file(follow_symlinks=False)}, names)

    def test_rename(self):
        (self.here / "a").write_text("a", encoding="ascii")
        (self.here / "b").write_text("b", encoding="ascii")
        os.rename(self.here / "a", self.here / "b")
        self.assertEqual((self.there / "b").read_text(encoding="ascii"), "a")
        self.assertFalse((self.there / "a").exists())
        (self.here / "d").mkdir()
        (self.here / "d/e").mkdir()
        self.assert_errno(errno.EINVAL, os.rename, self.here / "d", self.here / "d/e/f")
        self.assert_errno(errno.EISDIR, os.rename, self.here / "b", self.here / "d")
        self.assert_errno(errno.ENOTDIR, os.rename, self.here / "d", self.here / "b")
        (self.here / "full").mkdir()
        (self.here / "full/x").touch()
        self.assert_errno(errno.ENOTEMPTY, os.rename, self.here / "d", self.here / "full")
        os.rename(self.here / "d/e", self.here / "full/e")
        self.assertEqual(sorted(os.listdir(self.there / "full")), ["e", "x"])

    def test_links(self):
        path = self.here / "x"
        path.write_text("text", encoding="ascii")
        os.link(path, self.here / "y")
        self.assertEqual(path.stat().st_nlink, 2)
        self.assertEqual((self.there / "y").stat().st_ino, path.stat().st_ino)
        path.unlink()
        self.assertEqual((self.there / "y").read_text(encoding="ascii"), "text")
        self.assert_errno(errno.EPERM, os.link, self.here, self.here / "z")
        os.symlink("y", self.here / "s")
        self.assertEqual(os.readlink(self.there / "s"), "y")
        self.assertEqual((self.there / "s").read_text(encoding="ascii"), "text")
        os.symlink("loop", self.here / "loop")
        self.assert_errno(errno.ELOOP, os.open, self.here / "loop", os.O_RDONLY)

    def test_modes_and_times(self):
        path = self.here / "x"
        path.touch()
        path.chmod(0o4711)
        self.assertEqual((self.there / "x").stat().st_mode, stat.S_IFREG | 0o4711)
        os.utime(path, ns=(1_000_000_001, 2_000_000_002))
        state = (self.there / "x").stat()
        self.assertEqual((state.st_atime_ns, state.st_mtime_ns), (1_000_000_001, 2_000_000_002))
        before = time.time_ns() - 1_000_000_000
        with open(path, "ab") as file:
            file.write(b"now")
        self.assertGreater((self.there / "x").stat().st_mtime_ns, before)
        self.assertEqual(path.stat().st_mode & 0o7000, 0 if os.geteuid() != 0 else path.stat().st_mode & 0o7000)
        os.mkfifo(self.here / "pipe", 0o600)
        self.assertTrue(stat.S_ISFIFO((self.there / "pipe").stat().st_mode))
        old = os.umask(0o027)
        try:
            os.close(os.open(self.here / "masked", os.O_CREAT | os.O_WRONLY, 0o777))
        finally:
            os.umask(old)
        self.assertEqual((self.there / "masked").stat().st_mode & 0o777, 0o750)

    def test_truncate(self):
        path = self.here / "x"
        path.write_bytes(b"x" * 200000)
        os.truncate(path, 70000)
        self.assertEqual((self.there / "x").stat().st_size, 70000)
        os.truncate(self.there / "x", 100000)
        self.assertEqual(path.read_bytes(), b"x" * 70000 + bytes(30000))
        with open(path, "wb"):
            pass
        self.assertEqual((self.there / "x").stat().st_size, 0)
        self.assert_errno(errno.EISDIR, os.truncate, self.here, 0)

    def test_open_files_outlive_their_names(self):
        path = self.here / "x"
        fd = os.open(path, os.O_CREAT | os.O_RDWR)
        os.write(fd, b"still")
        (self.there / "x").unlink()
        self.assertEqual(os.pread(fd, 10, 0), b"still")
        self.assertEqual(os.fstat(fd).st_nlink, 0)
        os.write(fd, b" here")
        self.assertEqual(os.pread(fd, 20, 0), b"still here")
        os.close(fd)

    def test_xattrs(self):
        path = self.here / "x"
        path.touch()
        os.setxattr(path, "user.a", b"1")
        os.setxattr(path, "user.b", bytes(1000))
        self.assertEqual(os.getxattr(self.there / "x", "user.a"), b"1")
        self.assertLessEqual({"user.a", "user.b"}, set(os.listxattr(self.there / "x")))
        self.assert_errno(errno.EEXIST, os.setxattr, path, "user.a", b"2", os.XATTR_CREATE)
        self.assert_errno(errno.ENODATA, os.setxattr, path, "user.c", b"2", os.XATTR_REPLACE)
        os.removexattr(path, "user.a")
        self.assert_errno(errno.ENODATA, os.getxattr, self.there / "x", "user.a")

    def test_layouts(self):
        self.assert_errno(errno.ENODATA, os.getxattr, self.here, "lustre.lov")
        make_with_layout(self.here / "x", 3, 128 * KIB, [4, 0, 2])
        self.assertEqual(osts_of(self.there / "x"), [4, 0, 2])
        os.setxattr(self.here / "x", "lustre.lov", lov_request(1, 64 * KIB, [1]))  # has one: 0, and nothing changes
        self.assertEqual(osts_of(self.there / "x"), [4, 0, 2])
        os.mknod(self.here / "bad", stat.S_IFREG | 0o644)
        self.assert_errno(errno.EINVAL, os.setxattr, self.here / "bad", "lustre.lov", lov_request(1, 64 * KIB, [99]))
        self.assert_errno(errno.EINVAL, os.setxattr, self.here / "bad", "lustre.lov", lov_request(1, 1000))
        (self.here / "bad").write_text("is a file all the same", encoding="ascii")
        os.setxattr(self.here, "lustre.lov", lov_request(6, 64 * KIB))
        (self.here / "wide").touch()
        self.assertEqual(sorted(osts_of(self.there / "wide")), list(range(6)))

    def test_flock_and_posix_locks(self):
        with open(self.here / "x", "wb") as one, open(self.here / "x", "rb") as two:
            fcntl.flock(one, fcntl.LOCK_EX)
            self.assert_errno(errno.EWOULDBLOCK, fcntl.flock, two, fcntl.LOCK_SH | fcntl.LOCK_NB)
            fcntl.lockf(one, fcntl.LOCK_EX)

    def test_what_it_has_not(self):
        fd = os.open(self.here / "x", os.O_CREAT | os.O_RDWR)
        os.posix_fallocate(fd, 0, 100000)  # libc writes the zeros
        self.assertEqual(os.fstat(fd).st_size, 100000)
        self.assertEqual(os.lseek(fd, 0, os.SEEK_HOLE), 100000)
        os.fsync(fd)
        os.fdatasync(fd)
        os.close(fd)
        self.assert_errno(errno.EOPNOTSUPP, os.open, self.here, os.O_TMPFILE | os.O_RDWR)

    def test_statfs(self):
        space = os.statvfs(self.here)
        self.assertEqual(space.f_blocks * space.f_frsize, 6 * 64 * MIB)
        self.assertEqual(space.f_namemax, 255)

    def test_programs(self):
        """A few that do more than one would think."""
        script = """set -e
            mkdir t; for i in $(seq 50); do echo $i > t/$i; done
            tar cf t.tar t; mkdir u; tar xf t.tar -C u; diff -r t u/t
            cp -a t v; diff -r t v; mv v w; rm -r t u w t.tar
            seq 10000 | sort -R > s; sort -n s -o s; seq 10000 | cmp - s; sed -i s/1/one/ s; grep -c one s"""
        done = iez("exec", "--dir", self.lab.folder, "--client", "1", "--", "sh", "-c", f"cd {self.here.name}; {script}")
        self.assertEqual(done.stdout.strip(), str(sum("1" in str(i) for i in range(1, 10001))))
        if shutil.which("git"):
            iez("exec", "--dir", self.lab.folder, "--", "sh", "-c",
                f"cd {self.here.name} && git init -q g && cd g && echo x > x && git add x && "
                "git -c user.name=n -c user.email=e commit -qm m && git gc -q && git fsck")


class Commands(OneLab):
    def test_status_and_df(self):
        status = self.lab.status()
        self.assertEqual([row["node"] for row in status["nodes"]], ["mds", "oss0", "oss1", "client0", "client1"])
        self.assertEqual({row["state"] for row in status["nodes"]}, {"up"})
        self.assertEqual(len(self.lab.df()), 6)
        text = iez("status", "--dir", self.lab.folder).stdout
        self.assertIn(str(self.a), text)
        self.assertIn("t-OST0005", iez("df", "--dir", self.lab.folder).stdout)

    def test_exec(self):
        done = iez("exec", "--dir", self.lab.folder, "--", "sh", "-c", "pwd; echo $IEZ_LAB; exit 42", check=False)
        self.assertEqual((done.returncode, done.stdout.split()), (42, [str(self.a), str(self.lab.folder)]))
        done = iez("exec", "--dir", self.lab.folder, "--", "sh", "-c", "kill -TERM $$", check=False)
        self.assertEqual(done.returncode, -signal.SIGTERM)
        self.assertEqual(iez("exec", "--dir", self.lab.folder, "--", "no-such-program", check=False).returncode, 127)
        self.assertEqual(iez("exec", "--dir", self.lab.folder, "--client", "7", "--", "true", check=False).returncode, 2)
        # Within, no --dir is needed.
        done = iez("exec", "--dir", self.lab.folder, "--", IEZ, "lab", "status", "--json")
        self.assertEqual(json.loads(done.stdout)["dir"], str(self.lab.folder))

    def test_up_again_is_nothing(self):
        before = self.lab.status()
        self.lab.up()
        self.assertEqual([row["pid"] for row in self.lab.status()["nodes"]], [row["pid"] for row in before["nodes"]])

    def test_other_settings_are_refused(self):
        done = iez("up", "--dir", self.lab.folder, "--oss", "3", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("another --oss", done.stderr)

    def test_a_folder_with_other_things_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "mine").touch()
            done = iez("up", "--dir", folder, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("no lab", done.stderr)
            self.assertEqual(os.listdir(folder), ["mine"])
            self.assertEqual(iez("status", "--dir", folder, check=False).returncode, 1)

    def test_job_statistics(self):
        iez("exec", "--dir", self.lab.folder, "--", "dd", "if=/dev/zero", "of=job", "bs=1M", "count=3")
        deadline = time.monotonic() + 20
        job = f"dd.{os.geteuid()}"
        while time.monotonic() < deadline:
            texts = [path.read_text(encoding="utf-8") for path in (self.lab.folder / "params").glob("oss*/**/job_stats")]
            if any(job in text for text in texts):
                return
            time.sleep(0.2)
        self.fail(f"no {job} in the job_stats of any OST")

    def test_settings_of_a_client(self):
        """max_rpcs_in_flight: written, taken, put back if it makes no sense."""
        paths = list((self.lab.folder / "params/client0").glob("sys/fs/lustre/osc/t-OST0000-osc-*/max_rpcs_in_flight"))
        self.assertEqual(len(paths), 1)
        for given, taken in (("16\n", "16"), ("0\n", "16"), ("many\n", "16"), ("8\n", "8")):
            paths[0].write_text(given, encoding="ascii")
            deadline = time.monotonic() + 10
            while paths[0].read_text(encoding="ascii").strip() != taken or (given.strip() == taken and time.monotonic() < deadline - 8.5):
                self.assertLess(time.monotonic(), deadline, given)
                time.sleep(0.1)


@unittest.skipUnless(CAN_MOUNT, "no FUSE here")
class Faults(Case):
    def setUp(self):
        self.lab = Lab("--name", "f", "--oss", "2", "--osts", "2", "--ost-size", "16M")
        self.addCleanup(self.lab.down)
        self.here = self.lab.mount()

    def test_full(self):
        make_with_layout(self.here / "x", 1, MIB, [1])
        self.lab.fault("full", "ost1")
        self.assert_errno(errno.ENOSPC, (self.here / "x").write_bytes, bytes(MIB))
        self.lab.fault("none", "ost1")
        (self.here / "x").write_bytes(bytes(MIB))
        make_with_layout(self.here / "big", 1, MIB, [2])
        fd = os.open(self.here / "big", os.O_WRONLY)
        written = 0
        with self.assertRaises(OSError) as caught:
            while True:
                written += os.write(fd, bytes([7]) * MIB)
        self.assertEqual(caught.exception.errno, errno.ENOSPC)
        os.close(fd)
        self.assertGreaterEqual(written, 14 * MIB)
        self.assertLessEqual(written, 16 * MIB)
        self.assertEqual((self.here / "big").read_bytes(), bytes([7]) * written)
        (self.here / "big").unlink()
        deadline = time.monotonic() + 20
        while self.lab.df()[2]["used"] != 0:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)

    def test_off(self):
        self.lab.fault("off", "ost3")
        for i in range(8):
            (self.here / f"x{i}").touch()
            self.assertNotIn(3, osts_of(self.here / f"x{i}"))
        self.assertIn("off", self.lab.df()[3]["faults"])
        self.lab.fault("none")
        self.assertEqual(self.lab.df()[3]["faults"], [])

    def test_lost_requests(self):
        """Each costs two seconds, until the client asks what became of it."""
        self.lab.fault("drop", "oss0", "0.2")
        self.lab.fault("drop", "mds", "0.1")
        data = os.urandom(200000)
        make_with_layout(self.here / "x", 2, 64 * KIB, [0, 1])
        (self.here / "x").write_bytes(data)
        self.lab.fault("none")
        self.assertEqual((self.here / "x").read_bytes(), data)
        self.assertEqual(os.listdir(self.here), ["x"])

    def test_a_dead_server_makes_wait_and_a_signal_ends_it(self):
        make_with_layout(self.here / "x", 1, MIB, [0])
        self.lab.fault("kill", "oss0")
        writer = subprocess.Popen(["dd", "if=/dev/zero", f"of={self.here}/x", "bs=4k", "count=1", "conv=notrunc", "status=none"],
                                  stderr=subprocess.DEVNULL)
        with self.assertRaises(subprocess.TimeoutExpired):
            writer.wait(1)
        writer.kill()
        self.assertEqual(writer.wait(20), -signal.SIGKILL)
        waiting = subprocess.Popen(["dd", "if=/dev/zero", f"of={self.here}/x", "bs=4k", "count=1", "conv=notrunc", "status=none"])
        self.lab.up()
        self.assertEqual(waiting.wait(20), 0)


WRITER = """
import os, sys
path, log = sys.argv[1], os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
fd, i = -1, 0
while True:
    try:
        if fd < 0:
            fd = os.open(path, os.O_WRONLY)  # without O_CREAT: while nothing is mounted, it is not there
        n = os.pwrite(fd, i.to_bytes(4, "little") * 2500, i * 10000)
        os.write(log, f"{i} {n}\\n".encode())
        i += 1
    except OSError as problem:  # the mount died: begin again where it ended
        if fd >= 0:
            try:
                os.close(fd)
            except OSError:
                pass
        fd = -1
"""


@unittest.skipUnless(CAN_MOUNT, "no FUSE here")
class Crashes(Case):
    def check_answered(self, path, log):
        """Every byte that a write was answered for."""
        answered = [tuple(map(int, line.split())) for line in log.read_text(encoding="ascii").splitlines()]
        self.assertGreater(len(answered), 5)
        with open(path, "rb") as file:
            for index, size in answered:
                file.seek(index * 10000)
                self.assertEqual(file.read(size), (index.to_bytes(4, "little") * 2500)[:size], index)
        return len(answered)

    def wait_for_more(self, log, count):
        deadline = time.monotonic() + 30
        while not log.exists() or log.read_text(encoding="ascii").count("\n") < count:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def test_every_kind_of_process(self):
        lab = Lab("--name", "c", "--oss", "2", "--osts", "2", "--ost-size", "1G")
        self.addCleanup(lab.down)
        path = lab.mount() / "x"
        make_with_layout(path, 4, 64 * KIB, [0, 1, 2, 3])
        log = lab.folder.parent / "log"
        writer = subprocess.Popen([sys.executable, "-c", WRITER, path, log], cwd="/")
        try:
            count = 20
            for node in ("oss0", "mds", "oss1", "client0", "oss0"):
                with self.subTest(node=node):
                    self.wait_for_more(log, count)
                    os.kill(lab.pid(node), signal.SIGKILL)
                    time.sleep(0.1)
                    lab.up()
                    count = log.read_text(encoding="ascii").count("\n") + 20
            self.wait_for_more(log, count)
        finally:
            writer.kill()
            writer.wait(20)
        self.check_answered(path, log)

    def test_everything_at_once(self):
        lab = Lab("--name", "c2", "--oss", "2", "--osts", "2")
        self.addCleanup(lab.down)
        path = lab.mount() / "x"
        make_with_layout(path, 3, 64 * KIB)
        log = lab.folder.parent / "log"
        writer = subprocess.Popen([sys.executable, "-c", WRITER, path, log], cwd="/")
        self.wait_for_more(log, 30)
        for name in range(20):
            (lab.mount() / f"n{name}").touch()
        for row in lab.status()["nodes"]:
            os.kill(row["pid"], signal.SIGKILL)
        writer.kill()
        writer.wait(20)
        lab.up()
        self.check_answered(path, log)
        self.assertEqual(sorted(os.listdir(lab.mount())), sorted(["x", *(f"n{i}" for i in range(20))]))


@unittest.skipUnless(CAN_MOUNT, "no FUSE here")
class UpAndDown(Case):
    def test_nothing_is_left(self):
        with tempfile.TemporaryDirectory() as folder:
            dir_ = pathlib.Path(folder) / "deep/er"
            iez("up", "--dir", dir_, "--oss", "1", "--osts", "1", "--clients", "2")
            (dir_ / "mnt/client1/x").write_text("x", encoding="ascii")
            user = subprocess.Popen(["sleep", "60"], cwd=dir_ / "mnt/client0")
            try:
                self.assertEqual(len(processes_of(dir_)), 4)
                done = json.loads(iez("down", "--dir", dir_, "--json").stdout)
            finally:
                user.kill()
                user.wait()
            self.assertEqual([(row["pid"], row["program"]) for row in done["busy"]], [(user.pid, "sleep")])
            self.assertEqual(done["stopped"], ["client1", "client0", "oss0", "mds"])
            self.assertEqual(processes_of(dir_), [])
            self.assertFalse(mounted(dir_ / "mnt/client0") or mounted(dir_ / "mnt/client1"))
            self.assertFalse(dir_.exists())
            self.assertEqual(iez("down", "--dir", dir_, check=False).returncode, 1)

    @unittest.skipUnless(os.geteuid() == 0, "only root hides a device and fills a disk of its own")
    def test_a_start_that_fails_leaves_nothing(self):
        for hiding, said in (("mount --bind /dev/null /dev/fuse", "client0 ended; its last words:\n  \\S"),
                             ("mkdir -p $1 && mount -t tmpfs -o size=64k none $1", "No space left on device|is full"),
                             ("mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3",
                              r"/dev/fuse: No such file or directory; clients mount by FUSE \(in a container: --device /dev/fuse")):
            with self.subTest(hiding=hiding), tempfile.TemporaryDirectory() as folder:
                dir_ = pathlib.Path(folder) / "disk/lab"
                script = f'({hiding}) && "$0" lab up --dir $1/lab --oss 1 --osts 2; status=$?; ls -A $1; exit $status'
                result = subprocess.run(["unshare", "--mount", "sh", "-c", script, IEZ, str(dir_.parent)], capture_output=True, text=True,
                                        check=False, timeout=CALLS, stdin=subprocess.DEVNULL)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertRegex(result.stderr, said)
                self.assertNotIn("\\x0a", result.stderr)
                self.assertEqual(processes_of(dir_), [])
                self.assertNotIn("lab", result.stdout)

    def test_names_and_labs_side_by_side(self):
        with tempfile.TemporaryDirectory() as home:
            environment = {**{k: v for k, v in os.environ.items() if k != "IEZ_LAB"}, "HOME": home, "XDG_STATE_HOME": ""}
            for name in ("one", "two"):
                iez("up", "--name", name, "--oss", "1", "--osts", "2", env=environment)
            for name in ("one", "two"):
                iez("exec", "--name", name, "--", "sh", "-c", f"echo {name} > x", env=environment)
            for name in ("one", "two"):
                self.assertEqual(iez("exec", "--name", name, "--", "cat", "x", env=environment).stdout, f"{name}\n")
                self.assertIn(f"{name}-OST0001", iez("df", "--name", name, env=environment).stdout)
            for name in ("one", "two"):
                iez("down", "--name", name, env=environment)
            self.assertEqual(list(pathlib.Path(home).rglob("iez")), [])

    def test_the_first_file_may_have_every_ost(self):
        with tempfile.TemporaryDirectory() as folder:
            dir_ = pathlib.Path(folder) / "lab"
            for _ in range(3):
                iez("up", "--dir", dir_, "--oss", "4", "--osts", "3")
                make_with_layout(dir_ / "mnt/client0/wide", 0xFFFF, MIB)
                self.assertEqual(sorted(osts_of(dir_ / "mnt/client0/wide")), list(range(12)))
                iez("down", "--dir", dir_)

    def test_an_interrupted_start_goes_on(self):
        with tempfile.TemporaryDirectory() as folder:
            dir_ = pathlib.Path(folder) / "lab"
            for delay in (0.005, 0.03, 0.1):
                starter = subprocess.Popen([IEZ, "lab", "up", "--dir", str(dir_), "--oss", "2", "--osts", "1"],
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(delay)
                starter.send_signal(signal.SIGINT)
                starter.wait(CALLS)
            iez("up", "--dir", dir_, "--oss", "2", "--osts", "1")
            self.assertEqual(len(processes_of(dir_)), 4)
            (dir_ / "mnt/client0/x").touch()
            iez("down", "--dir", dir_)
            self.assertEqual(processes_of(dir_), [])
            self.assertFalse(dir_.exists())


if __name__ == "__main__":
    unittest.main()
