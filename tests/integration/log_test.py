#!/usr/bin/env python3
"""Logs of ranks from outside: killed writers, killed flattening, a full disk, hostile logs, and what `iez log` says to all of it.

IEZ_LONG=1 makes more rounds. The seed is printed; IEZ_SEED repeats it.
"""

import errno
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from folder_case import FolderCase
from terminal import output_on_terminal

ROOT = pathlib.Path(os.environ.get("IEZ_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
IEZ = pathlib.Path(os.environ.get("IEZ", ROOT / "build/dev/apps/iez/iez")).resolve()
WRITER = os.environ.get("IEZ_LOG_WRITER", str(ROOT / "build/dev/tests/integration/rank_log_writer"))
LONG = os.environ.get("IEZ_LONG") == "1"
SEED = int(os.environ.get("IEZ_SEED", time.time_ns() % (1 << 32)))
LIMIT = 120
# What kill -9 leaves is the same on every file system, and this one syncs fast.
if os.access("/dev/shm", os.W_OK):
    tempfile.tempdir = "/dev/shm"


def iez(*arguments, **options):
    return subprocess.run([IEZ, "log", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=LIMIT,
                          stdin=subprocess.DEVNULL, **options)


class Draw:
    """As in rank_log_writer.cpp."""

    def __init__(self, seed):
        self.state = seed

    def below(self, bound):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return (self.state >> 33) % bound


SEVENS = bytes(1 + i * 7 % 251 for i in range(251))


def data_of(rank, sequence, size):
    """Byte i is 1 + (rank * 37 + sequence * 101 + i * 7) % 251: the same 251 bytes again and again, from some place on."""
    start = (rank * 37 + sequence * 101) * pow(7, -1, 251) % 251
    return (SEVENS * (size // 251 + 2))[start:start + size]


def calls_of(rank, seed, sequence, room, most):
    """What the writer does, without an end: (sequence, rank, pieces or None, bytes or size)."""
    draw = Draw(seed)
    while True:
        if rank == 0 and draw.below(16) == 0:
            yield sequence, rank, None, draw.below(room * 2)
        else:
            offset, block = draw.below(room), 1 + draw.below(most)
            count = 1 + draw.below(20)
            stride = block + 1 + draw.below(64)
            yield sequence, rank, [(offset + i * stride, block) for i in range(count)], data_of(rank, sequence, block * count)
        sequence += 1


def apply(calls, before):
    """The file that calls make of another one, in the order that counts."""
    file = bytearray(before)
    for _, _, pieces, data in sorted(calls, key=lambda call: call[:2]):
        if pieces is None:
            del file[data:]
            file.extend(bytes(data - len(file)))
            continue
        at = 0
        for offset, block in pieces:
            piece = data[at:at + block]
            at += block
            if piece:
                file.extend(bytes(max(0, offset + len(piece) - len(file))))
                file[offset:offset + len(piece)] = piece
    return bytes(file)


class Program:
    """Ranks that log into one file, and what must come of it."""

    def __init__(self, case, generator, ranks=3, room=3_000_000, most=3000):
        self.case, self.generator, self.ranks, self.room, self.most = case, generator, ranks, room, most
        self.file = case.folder / "out"
        self.folder = case.folder / "out.iezlog"
        self.before = generator.randbytes(generator.randrange(100_000))
        self.file.write_bytes(self.before)
        self.calls = []
        self.sequence = 1
        self.records = [0] * ranks  # in each log

    def write_and_kill(self):
        """All ranks write; each is killed after some of its calls were acknowledged."""
        started = []
        for rank in range(self.ranks):
            seed = self.generator.randrange(1 << 60)
            process = subprocess.Popen([WRITER, self.folder, str(rank), str(seed), str(self.sequence), "100000", str(self.room), str(self.most)],
                                       stdout=subprocess.PIPE, text=True)
            self.case.addCleanup(process.stdout.close)
            self.case.addCleanup(process.wait)
            self.case.addCleanup(process.kill)
            started.append((process, calls_of(rank, seed, self.sequence, self.room, self.most)))
        lines = []
        for process, _ in started:
            lines.append([process.stdout.readline() for _ in range(self.generator.randrange(1, 15))])
        for process, _ in started:
            process.kill()
        for rank, (process, expected) in enumerate(started):
            acknowledged = len(lines[rank]) + sum(1 for line in process.stdout.read().splitlines(keepends=True) if line.endswith("\n"))
            process.wait(LIMIT)
            there = self.records_of(rank) - self.records[rank]
            self.case.assertIn(there - acknowledged, (0, 1), "acknowledged is there; one more may be")
            self.records[rank] += there
            for _ in range(there):
                self.calls.append(next(expected))
        self.sequence = max((call[0] for call in self.calls), default=0) + 1

    def records_of(self, rank):
        shown = json.loads(iez("show", "--json", self.file).stdout)
        return next(row["records"] + row["sizes"] for row in shown["rows"] if row["rank"] == rank)

    def expected(self):
        return apply(self.calls, self.before)

    def flattened(self):
        """The log is in the file: what comes now comes on top."""
        self.before = self.expected()
        self.calls = []
        self.records = [0] * self.ranks


class Killed(FolderCase):
    def test_writers_and_flattening_killed_at_any_moment(self):
        generator = random.Random(SEED)
        finished = unfinished = 0
        with self.subTest(seed=SEED):
            for _ in range(6 if LONG else 2):
                program = Program(self, generator)
                usual = 0.05
                for number in range(20 if LONG else 7):
                    program.write_and_kill()
                    check = iez("check", program.file)
                    self.assertEqual(check.returncode, 0, check.stderr)
                    process = subprocess.Popen([IEZ, "log", "flatten", "--window", "4KiB", "-j", str(generator.randrange(1, 4)), program.file],
                                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                    began = time.monotonic()
                    if number > 0:
                        time.sleep(generator.uniform(0, usual * 1.2))
                        process.kill()
                    _, talk = process.communicate(timeout=LIMIT)
                    if number == 0:
                        usual = time.monotonic() - began
                    if process.returncode == 0 or not program.folder.exists():
                        finished += 1
                        self.assertEqual(program.file.read_bytes(), program.expected())
                        program.flattened()
                    else:
                        unfinished += 1
                        self.assertEqual((process.returncode, talk), (-9, ""))
                program.write_and_kill()
                result = iez("flatten", program.file)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(program.file.read_bytes(), program.expected())
                self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["out"])
        print(f"seed {SEED}: flattening was killed {unfinished} times and came to its end {finished} times")
        self.assertGreater(unfinished, 0)


def full_disk_scenario(folder):
    """Runs inside of a small file system, and ends with a message if anything is wrong."""
    file = folder / "out"
    file.write_bytes(b"old" * 1000)
    seed, room, most = SEED, 400_000, 2000
    filler = folder / "filler"
    filler.write_bytes(bytes(256 << 10))
    result = subprocess.run([WRITER, folder / "out.iezlog", "1", str(seed), "1", "100000", str(room), str(most)], capture_output=True,
                            text=True, check=False, timeout=LIMIT)
    assert result.returncode == 1, result
    lines = [line.split() for line in result.stdout.splitlines()]
    assert int(lines[-1][-1]) == errno.ENOSPC and len(lines) > 5, lines[-1]
    calls = []
    for call, line in zip(calls_of(1, seed, 1, room, most), lines):
        assert (call[0], call[2][0][0]) == (int(line[1]), int(line[2])), line
        calls.append((*call[:3], call[3][:int(line[6])]))
    check = iez("check", file)
    assert check.returncode == 0, check.stderr
    # There is no room to flatten it: that is told, nothing is lost, and with room it goes on.
    shown = json.loads(iez("show", "--json", file).stdout)
    assert shown["torn"] == 0 and shown["bytes"] == sum(len(call[3]) for call in calls), shown
    flatten = iez("flatten", file)
    assert flatten.returncode == 1 and "No space left on device" in flatten.stderr and "the log is whole" in flatten.stderr, flatten.stderr
    assert (folder / "out.iezlog").is_dir()
    filler.unlink()
    subprocess.run(["mount", "-o", "remount,size=16m", folder], check=True)
    flatten = iez("flatten", file)
    assert flatten.returncode == 0, flatten.stderr
    assert file.read_bytes() == apply(calls, b"old" * 1000)
    assert [path.name for path in folder.iterdir()] == ["out"]
    print("full disk: done")


class FullDisk(FolderCase):
    def test_of_a_small_file_system(self):
        """In a mount namespace of its own, so that nothing is left whatever happens."""
        words = ["unshare", "--mount", "--map-root-user"]
        if subprocess.run([*words, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no namespaces here")
        script = 'mount -t tmpfs -o size=1536k none "$1" && exec "$2" "$3" --full-disk "$1"'
        result = subprocess.run([*words, "sh", "-c", script, "sh", self.folder, sys.executable, __file__], capture_output=True, text=True,
                                check=False, timeout=LIMIT, env={**os.environ, "IEZ_SEED": str(SEED)})
        self.assertEqual((result.returncode, result.stdout), (0, "full disk: done\n"), f"seed {SEED}: {result.stderr}")


class Command(FolderCase):
    def setUp(self):
        super().setUp()
        self.program = Program(self, random.Random(5), ranks=2)
        for rank in range(2):
            lines = subprocess.run([WRITER, self.program.folder, str(rank), str(rank), "1", "5", "1000", "50"], capture_output=True, text=True,
                                   check=True).stdout
            self.assertEqual(len(lines.splitlines()), 5)
            calls = calls_of(rank, rank, 1, 1000, 50)
            self.program.calls += [next(calls) for _ in range(5)]
        self.path = self.program.file

    def fails(self, *arguments, status=1):
        result = iez(*arguments)
        self.assertEqual(result.returncode, status, result.stderr)
        return result.stderr

    def damage(self, rank, at, content):
        path = self.program.folder / f"{rank}.index"
        content = content if isinstance(content, bytes) else content(path.read_bytes()[at])
        with open(path, "r+b") as file:
            file.seek(at)
            file.write(content)

    def test_show(self):
        result = iez("show", self.path)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("in 10 records of 2 ranks; the file becomes", result.stdout)
        self.assertRegex(result.stdout, r"(?m)^ *RANK +BYTES +RECORDS +PIECES +SEQUENCE +STATE$")
        self.assertEqual(iez("show", self.program.folder).stdout, result.stdout, "by the name of the folder, too")
        self.assertEqual(len(iez("show", "--no-header", "-n", "1", self.path).stdout.splitlines()), 1)
        shown = json.loads(iez("show", "--json", self.path).stdout)
        self.assertEqual(shown["bytes"], sum(len(call[3]) for call in self.program.calls))
        self.assertEqual(shown["final_size"], len(self.program.expected()))
        self.assertEqual([row["state"] for row in shown["rows"]], ["whole", "whole"])

    def test_flatten(self):
        result = iez("flatten", "--json", "--keep", "--verify", "-j", "3", self.path)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        done = json.loads(result.stdout)
        self.assertEqual((done["flattened"], done["removed"], done["size"]), (True, False, len(self.program.expected())))
        self.assertEqual(self.path.read_bytes(), self.program.expected())
        result = iez("flatten", self.program.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("from 2 logs in", result.stdout)
        self.assertEqual(self.path.read_bytes(), self.program.expected())
        self.assertIn("there is no log of this file: it was flattened, or never written in log mode", self.fails("flatten", self.path))

    def test_a_removal_that_was_killed(self):
        iez("flatten", "--keep", self.path)
        self.program.folder.rename(f"{self.program.folder}.done")
        (self.folder / "out.iezlog.done/1.index").unlink()
        self.path.write_bytes(b"written since")
        result = iez("flatten", self.path)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.path.read_bytes(), b"written since", "half a log is not brought in again")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["out"])

    def test_a_damaged_log(self):
        self.damage(1, 64 + 16, lambda old: bytes([old ^ 1]))
        self.assertIn("1.index: record 0: its checksum is wrong", self.fails("check", "--quick", self.path))
        self.assertIn("1.index: record 0: its checksum is wrong", iez("show", self.path).stderr)
        before = self.path.read_bytes()
        self.assertIn(f"'iez log check {self.path}' tells where; --force brings in what is whole", self.fails("flatten", self.path))
        self.assertEqual(self.path.read_bytes(), before)
        result = iez("flatten", "--force", self.path)
        self.assertEqual(result.returncode, 0)
        self.assertIn("out.iezlog.damaged now", result.stderr)
        self.program.calls = [call for call in self.program.calls if call[:2] != (1, 1)]
        self.assertEqual(self.path.read_bytes(), self.program.expected())

    def test_damaged_data(self):
        with open(self.program.folder / "0.data", "r+b") as file:
            file.write(b"\0")
        self.assertIn("0.index: record 0: its data is not what was written; 1 of ", self.fails("check", self.path))
        self.assertEqual(iez("check", "--quick", self.path).returncode, 0)
        self.assertIn("the data of 1 record is damaged", self.fails("flatten", "--verify", self.path))

    def test_hostile_logs(self):
        header = (self.program.folder / "0.index").read_bytes()[:64]
        generator = random.Random(SEED)
        for content in (b"", b"x", bytes(64), bytes(640), header, header + bytes(64 * 100), header[:40] + b"\xff" * 24 + bytes(64),
                        generator.randbytes(4096), header + generator.randbytes(64 * 50)):
            with self.subTest(seed=SEED, content=content[:80]):
                (self.program.folder / "0.index").write_bytes(content)
                for command in ("show", "check", "flatten"):
                    result = iez(command, "--json", self.path) if command != "flatten" else iez(command, "--keep", self.path)
                    self.assertIn(result.returncode, (0, 1), result.stderr)
                    self.assertLess(len(result.stderr), 2000)
        (self.program.folder / "0.index").unlink()
        os.mkfifo(self.program.folder / "0.index")
        self.assertIn("0.index: is no regular file", self.fails("check", self.path))
        (self.program.folder / "0.index").unlink()
        (self.program.folder / "0.index").symlink_to("/etc/passwd")
        self.assertIn("0.index: cannot open it", self.fails("flatten", self.path))

    def test_a_later_version(self):
        raw = bytearray((self.program.folder / "0.index").read_bytes())
        struct.pack_into("<H", raw, 12, 2)
        (self.program.folder / "0.index").write_bytes(raw)
        self.assertIn("is of format version 2, this iez knows version 1: use the iez that wrote it", self.fails("check", self.path))

    def test_the_file(self):
        self.path.unlink()
        self.assertIn("cannot open the file of the log", self.fails("flatten", self.path))
        self.path.mkdir()
        self.assertIn("out: ", self.fails("flatten", self.path))
        self.path.rmdir()
        os.mkfifo(self.path)
        self.assertIn("is no regular file", self.fails("flatten", self.path))
        shutil.rmtree(self.program.folder)
        self.program.folder.write_bytes(b"")
        self.assertIn("Not a directory", self.fails("show", self.path))

    def test_a_log_that_is_written_now(self):
        writer = subprocess.Popen([WRITER, self.program.folder, "0", "1", "100", "1000000", "1000", "10"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(writer.stdout.close)
        self.addCleanup(writer.wait)
        self.addCleanup(writer.kill)
        writer.stdout.readline()  # and its pipe fills up: it lives
        self.assertIn("a program writes this log, or another iez flattens it", self.fails("flatten", self.path))
        self.assertEqual(iez("check", self.path).returncode, 0, "what is whole of it can be looked at")
        writer.kill()
        writer.wait(LIMIT)
        self.assertEqual(iez("flatten", self.path).returncode, 0, "locks end with their owner")

    def test_usage(self):
        for arguments in (("show",), ("flatten", "-j", "0", self.path), ("flatten", "--window", "1K", self.path), ("flatten", "--memory", "x", self.path)):
            self.assertIn("Try 'iez log", self.fails(*arguments, status=2))

    def test_on_a_terminal(self):
        text, status = output_on_terminal([IEZ, "log", "flatten", self.path])
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"\A[^\x1b]*out: [^\x1b]* from 2 logs in [^\x1b]*\r\n\Z", "short work shows no progress")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--full-disk"]:
        full_disk_scenario(pathlib.Path(sys.argv[2]))
    else:
        unittest.main()
