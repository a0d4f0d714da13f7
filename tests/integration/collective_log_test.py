#!/usr/bin/env python3
"""Files in log mode, iez_mode=log, under Open MPI and MPICH: all calls of a program go to logs, and every byte is right in the end."""

import os
import pathlib
import subprocess
import unittest

from collective_test import FLAVOURS, IEZ, LONG, MIB, RIGHT, SANITIZED, Case, has, library, program

# Atomic mode is the MPI's, and so are files that are only read. What is in a log is not in the file before it is closed, and what others
# wrote is seen after MPI_File_sync, as the standard has it.
NOT_OURS = ",-atomic,-rdonly,-visible,-unsynced"
# MPICH is wrong about where some views are, which is its own affair in log mode as well.
DRAWN = {"openmpi": "all" + NOT_OURS, "mpich": RIGHT["mpich", "romio"] + ",eof,mixed,transpose,zeros" + NOT_OURS}


def value_at(offset):
    """As tests/collective/faults.cpp writes it."""
    return (offset * 0x9E3779B97F4A7C15 & (1 << 64) - 1) >> 56


def right_bytes(path):
    return sum(byte == value_at(offset) for offset, byte in enumerate(pathlib.Path(path).read_bytes()))


class LogCase(Case):
    def flavours(self):
        found = [flavour for flavour in FLAVOURS if library(flavour) and has("oracle", flavour)]
        if not found:
            self.skipTest("no MPI")
        for flavour in found:
            yield flavour, 4 if flavour == "openmpi" else 2

    def iez(self, *words):
        return subprocess.run([IEZ, *map(str, words)], capture_output=True, text=True, check=False, timeout=120)

    def faults(self, flavour, ranks, case, hints, total=4 * 65536, folder=None, **options):
        file = (folder or self.folder) / f"{case}.{flavour}"
        return file, self.run_ranks(flavour, ranks, [program("faults", flavour), case, file, total // ranks, 1024], seconds=100,
                                    with_library=True, hints=hints, **options)

    def classes(self, outcome, step):
        return {row["class"] for row in outcome.rows(step)}


class Oracle(LogCase):
    def test_every_call(self):
        """The oracle reads and writes in every way, collective or not, and finds what it should."""
        for flavour, most in self.flavours():
            for ranks in (1, 2, most):
                with self.subTest(flavour=flavour, ranks=ranks):
                    self.succeed(flavour, ranks, [program("oracle", flavour), "--seed", 50 + ranks, "--rounds", 100 if LONG else 8, "--kinds", DRAWN[flavour],
                                                  "--dir", self.folder, "--timeout", 100], seconds=900, with_library=True, hints="iez_mode=log")
                    self.assertEqual([path.name for path in self.folder.iterdir() if path.name != "counters"], [], "a log was left")


class Programs(LogCase):
    def test_same_bytes(self):
        """HDF5 reads and writes its file by calls of all sorts."""
        for flavour, ranks in self.flavours():
            for name in ("hdf5", "pnetcdf"):
                if not has(name, flavour):
                    continue
                with self.subTest(flavour=flavour, name=name):
                    files = []
                    for hints in ("iez_mode=off", "iez_mode=log"):
                        file = self.folder / f"{name}.{flavour}.{hints}"
                        self.succeed(flavour, ranks, [program(name, flavour), file], with_library=True, hints=hints)
                        files.append(file.read_bytes())
                    self.assertTrue(files[0] == files[1], "the bytes differ")

    def test_fortran(self):
        for flavour, ranks in self.flavours():
            if has("fortran", flavour):
                with self.subTest(flavour=flavour):
                    self.succeed(flavour, ranks, [program("fortran", flavour), self.folder / flavour], with_library=True, hints="iez_mode=log")

    def test_brought_in_when_it_is_opened(self):
        for flavour, ranks in self.flavours():
            if SANITIZED:
                self.skipTest("no library may come before the runtime of a sanitizer")
            with self.subTest(flavour=flavour):
                file = self.folder / f"again.{flavour}"
                ior = [IEZ, "workload", "ior", "-a", "MPIIO", "-c", "-o", file, "-b", "64K", "-t", "16K", "-s", 4, "-k", "--verify", "--json"]
                self.succeed(flavour, ranks, [*ior, "-w"], with_library=True, hints="iez_mode=log;iez_flatten=later")
                self.assertTrue(pathlib.Path(f"{file}.iezlog").is_dir(), "there is no log")
                self.succeed(flavour, ranks, [*ior, "-r"], with_library=True)
                self.assertFalse(pathlib.Path(f"{file}.iezlog").exists(), "the log is still there")


class Life(LogCase):
    def test_at_close(self):
        for flavour, ranks in self.flavours():
            with self.subTest(flavour=flavour):
                file, outcome = self.faults(flavour, ranks, "write", "iez_mode=log")
                self.assertEqual(self.classes(outcome, "write_all") | self.classes(outcome, "close"), {"success"}, outcome.err)
                self.assertIn({"right": 4 * 65536}, outcome.rows())
                self.assertFalse(pathlib.Path(f"{file}.iezlog").exists())

    def test_later(self):
        for flavour, ranks in self.flavours():
            with self.subTest(flavour=flavour):
                file, outcome = self.faults(flavour, ranks, "write", "iez_mode=log;iez_flatten=later")
                self.assertEqual(self.classes(outcome, "close"), {"success"})
                self.assertEqual(file.stat().st_size, 0)
                done = self.iez("log", "flatten", file)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(right_bytes(file), 4 * 65536)

    def test_choice(self):
        """Few ranks find OSTs of their own; where nothing is known of OSTs, data are collected."""
        for flavour, ranks in self.flavours():
            for osts, logs in (("", False), (";iez_osts=480", True)):
                with self.subTest(flavour=flavour, osts=osts):
                    file, outcome = self.faults(flavour, ranks, "write", f"iez_mode=choose;iez_flatten=later{osts}")
                    self.assertEqual(self.classes(outcome, "write_all"), {"success"})
                    self.assertEqual(pathlib.Path(f"{file}.iezlog").exists(), logs)

    def test_second_open(self):
        """PnetCDF's independent mode opens the file again, each process by itself: what it writes and reads goes by the log."""
        for flavour, ranks in self.flavours():
            for later in ("", ";iez_flatten=later"):
                with self.subTest(flavour=flavour, later=later):
                    file, outcome = self.faults(flavour, ranks, "second", f"iez_mode=log{later}")
                    for step in ("write_all", "second_open", "second_read", "second_write", "second_close", "close"):
                        self.assertEqual(self.classes(outcome, step), {"success"}, step + outcome.out + outcome.err)
                    if later:
                        self.assertEqual(file.stat().st_size, 0, "something went past the log")
                        self.assertEqual(self.iez("log", "flatten", file).returncode, 0)
                    self.assertEqual(right_bytes(file), 4 * 65536)
                    file.unlink()

    def test_made_anew(self):
        """A log of a file that is gone is in nobody's way, and is kept."""
        for flavour, ranks in self.flavours():
            for hints in ("", "iez_mode=log"):
                with self.subTest(flavour=flavour, hints=hints):
                    file, _ = self.faults(flavour, ranks, "write", "iez_mode=log;iez_flatten=later", total=8 * 65536)
                    file.rename(self.folder / f"old.{hints}")  # so that its inode is not used again
                    _, outcome = self.faults(flavour, ranks, "write", hints)
                    self.assertEqual(self.classes(outcome, "write_all") | self.classes(outcome, "close"), {"success"}, outcome.out + outcome.err)
                    self.assertEqual((right_bytes(file), file.stat().st_size), (4 * 65536, 4 * 65536))
                    self.assertTrue(pathlib.Path(f"{file}.iezlog.stale/0.index").exists(), "the old log is gone")
                    self.assertFalse(pathlib.Path(f"{file}.iezlog").exists())
                    self.assertEqual(outcome.err.count("is of another file"), 1, outcome.err)
                    file.unlink()

    def test_made_anew_to_be_read(self):
        """A log of a file that is gone fails no open of one that may only be read."""
        # Root may write to any file unless it is told not to.
        wrapper = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
        if wrapper and subprocess.run([*wrapper, "true"], capture_output=True, check=False, timeout=60).returncode != 0:
            self.skipTest("no setpriv")
        for flavour, ranks in self.flavours():
            with self.subTest(flavour=flavour):
                file = self.folder / f"look.{flavour}"
                made, _ = self.faults(flavour, ranks, "write", "iez_mode=log;iez_flatten=later")
                logged = pathlib.Path(f"{made}.iezlog")
                logged.rename(f"{file}.iezlog")
                file.write_bytes(bytes(value_at(offset) for offset in range(4 * 65536)))
                file.chmod(0o444)
                _, outcome = self.faults(flavour, ranks, "look", "", wrapper=wrapper)
                self.assertEqual(self.classes(outcome, "read_all") | self.classes(outcome, "close"), {"success"}, outcome.out + outcome.err)
                self.assertEqual(outcome.err.count("is of another file"), 1, outcome.err)
                self.assertTrue(pathlib.Path(f"{file}.iezlog.stale").exists())
                # Its own log it cannot do without.
                self.faults(flavour, ranks, "write", "iez_mode=log;iez_flatten=later")
                made.chmod(0o444)
                made.rename(file)
                logged.rename(f"{file}.iezlog")
                _, outcome = self.faults(flavour, ranks, "look", "", wrapper=wrapper)
                self.assertEqual(self.classes(outcome, "open"), {"access"}, outcome.out + outcome.err)
                self.assertTrue(pathlib.Path(f"{file}.iezlog").exists())

    def test_shared_pointer(self):
        """The MPI would write behind the log's back."""
        for flavour, ranks in self.flavours():
            with self.subTest(flavour=flavour):
                _, outcome = self.faults(flavour, ranks, "shared", "iez_mode=log")
                self.assertEqual(self.classes(outcome, "write_shared"), {"unsupported"})


class Faults(LogCase):
    def test_disk_full(self):
        for flavour, ranks in self.flavours():
            # While it is written, and when it is brought in: then file and log take room.
            for step, total in (("write_all", 40 * MIB), ("close", 16 * MIB)):
                with self.subTest(flavour=flavour, step=step):
                    wrapper, folder = self.small_disk()
                    _, outcome = self.faults(flavour, ranks, "write", "iez_mode=log", total=total, folder=folder, wrapper=wrapper)
                    self.assertEqual(len(outcome.rows(step)), ranks, outcome.out + outcome.err)
                    self.assertEqual(self.classes(outcome, step), {"no_space"})

    def test_bad_arguments(self):
        for flavour, ranks in self.flavours():
            with self.subTest(flavour=flavour):
                _, outcome = self.faults(flavour, ranks, "bad_count", "iez_mode=log")
                self.assertEqual(self.classes(outcome, "bad"), {"count"})
                self.assertEqual(self.classes(outcome, "write_all"), {"success"})
                self.assertIn({"right": 4 * 65536}, outcome.rows())

    def test_killed(self):
        """What was written is in the logs, whoever dies."""
        for flavour, ranks in self.flavours():
            with self.subTest(flavour=flavour):
                file, outcome = self.faults(flavour, ranks, "killed", "iez_mode=log", total=4 * 4096)
                self.assertNotEqual(outcome.status, 0)
                done = self.iez("log", "flatten", file)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(right_bytes(file), 4 * 4096)

    def test_damaged(self):
        """Who opens the file would miss what is in its log."""
        for flavour, ranks in self.flavours():
            with self.subTest(flavour=flavour):
                file, _ = self.faults(flavour, ranks, "write", "iez_mode=log;iez_flatten=later")
                index = pathlib.Path(f"{file}.iezlog/0.index")
                data = bytearray(index.read_bytes())
                data[0] ^= 0xFF
                index.write_bytes(data)
                _, outcome = self.faults(flavour, ranks, "write", "")
                self.assertEqual(self.classes(outcome, "open"), {"io"}, outcome.out + outcome.err)
                self.assertTrue(index.exists(), "the log is gone")


if __name__ == "__main__":
    unittest.main()
