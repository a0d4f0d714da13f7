#!/usr/bin/env python3
"""libiez-mpi-*.so under programs of both MPIs, in C and Fortran: hints, requests, statuses, counters; and what it needs and shows."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("IEZ_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
IEZ = os.environ.get("IEZ", str(ROOT / "build/dev/apps/iez/iez"))
SANITIZED = os.environ.get("IEZ_SANITIZED") == "1"
PROGRAMS = ROOT / "tests/preload"
LAUNCHERS = {
    "openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--mca", "btl", "self,vader", "--mca",
                "btl_vader_single_copy_mechanism", "none"],
    "mpich": ["mpirun.mpich"],
}
RANKS = 4
# Names of C that a program may call; of each but those that count in MPI_Count there are four spellings for Fortran.
KINDS = [f"{verb}{kind}" for verb in ("write", "read")
         for kind in ("_all", "_at_all", "_ordered", "_all_begin", "_all_end", "_at_all_begin", "_at_all_end", "_ordered_begin", "_ordered_end")]
WITHOUT_DATA = ["open", "close", "set_view", "set_atomicity", "set_info", "get_info", "set_size", "get_size", "preallocate", "sync", "seek",
                "seek_shared", "delete"]
# Of one process: in log mode they are ours, too.
ALONE = [f"{verb}{how}" for verb in ("write", "read", "iwrite", "iread") for how in ("", "_at", "_shared")]
CALLS = [*KINDS, "iwrite_all", "iwrite_at_all", "iread_all", "iread_at_all", *ALONE, *WITHOUT_DATA]


def library(flavour):
    return os.environ.get(f"IEZ_MPI_{flavour.upper()}", str(ROOT / f"build/dev/preload/mpi/libiez-mpi-{flavour}.so"))


def flavours():
    """Those that were built; run by hand: those that are there."""
    named = [flavour for flavour in LAUNCHERS if f"IEZ_MPI_{flavour.upper()}" in os.environ]
    return named or [flavour for flavour in LAUNCHERS if os.path.exists(library(flavour))]


class Case(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name)
        for flavour in flavours():
            cls.compile([f"mpicc.{flavour}", "-O1", PROGRAMS / "mpi_calls.c"], f"{flavour}_c")
            if shutil.which("gfortran"):
                for module, flags in (("mpi", []), ("f08", ["-DIEZ_F08"])):
                    modules = cls.folder / f"{flavour}_{module}_modules"
                    modules.mkdir()
                    cls.compile([f"mpif90.{flavour}", "-O1", "-w", "-J", modules, *flags, PROGRAMS / "mpi_calls.F90"], f"{flavour}_{module}")

    @classmethod
    def compile(cls, command, name):
        subprocess.run([*map(str, command), "-o", str(cls.folder / name)], check=True, timeout=120)

    def setUp(self):
        if not flavours():
            self.skipTest("no MPI")
        if SANITIZED:
            self.skipTest("a program without a sanitizer cannot load a library with one")
        self.file = self.folder / "data"
        self.counters = self.folder / "counters"
        for path in (self.file, self.counters):
            path.unlink(missing_ok=True)

    def launch(self, flavour, program, *arguments, preload=True, **variables):
        environment = {**os.environ, **variables}
        if preload:
            environment |= {"LD_PRELOAD": library(flavour), "IEZ_COLLECTIVE_COUNTERS": str(self.counters)}
        result = subprocess.run([*LAUNCHERS[flavour], "-n", str(RANKS), str(self.folder / f"{flavour}_{program}"), str(self.file), *arguments],
                                env=environment, capture_output=True, text=True, check=False, timeout=120, stdin=subprocess.DEVNULL)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout.splitlines()

    def counted(self):
        return [json.loads(line) for line in self.counters.read_text(encoding="utf-8").splitlines()]

    def count(self):
        lines = self.counted()
        self.assertEqual(len(lines), 1)
        self.counters.unlink()
        return lines[0]


class Library(unittest.TestCase):
    def test_needs_libc_alone(self):
        for flavour in flavours():
            with self.subTest(flavour=flavour):
                shown = subprocess.run(["readelf", "-d", library(flavour)], capture_output=True, text=True, check=True).stdout
                needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", shown))
                if not SANITIZED:
                    self.assertLessEqual(needed, {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"})
                self.assertFalse([name for name in needed if "mpi" in name or "stdc++" in name])

    def test_shows_calls_alone(self):
        for flavour in flavours():
            with self.subTest(flavour=flavour):
                shown = subprocess.run(["nm", "-D", "--defined-only", library(flavour)], capture_output=True, text=True, check=True).stdout
                names = {line.split()[-1] for line in shown.splitlines()}
                wanted = {f"MPI_File_{call}" for call in CALLS}
                for call in CALLS:
                    wanted |= {f"mpi_file_{call}", f"mpi_file_{call}_", f"mpi_file_{call}__", f"MPI_FILE_{call.upper()}"}
                if flavour == "openmpi":
                    wanted |= {f"ompi_file_{call}_f" for call in CALLS}
                else:
                    wanted |= {f"mpi_file_{call}_f08_" for call in WITHOUT_DATA}
                large = {name for name in names if name.endswith("_c")}
                self.assertEqual(names - large, wanted)
                self.assertLessEqual(large, {f"MPI_File_{call}_c" for call in CALLS})


class Hints(Case):
    def told(self, lines):
        found = {}
        for line in lines:
            match = re.fullmatch(r"(\w+) ([^= ]+)=(.*)", line)
            if match:
                found.setdefault(match[1], {})[match[2]] = match[3]
        return found

    def check(self, told, **expected):
        self.assertEqual({key: told.get(key) for key in expected}, expected)

    def test_those_in_force_are_told(self):
        for flavour in flavours():
            with self.subTest(flavour=flavour):
                lines = self.launch(flavour, "c", "info", IEZ_COLLECTIVE="CO=3;cb_buffer_size=1M")
                self.assertIn("0 wrong", lines)
                told = self.told(lines)
                # The program's words come before those of the environment.
                self.check(told["open"], cb_buffer_size="65536", CO="3", romio_lustre_co_ratio="3", iez_mode="auto")
                self.check(told["written"], cb_buffer_size="65536", CO="3", striping_unit="1048576")
                self.assertGreater(int(told["written"]["cb_nodes"]), 0)
                self.check(told["viewed"], cb_nodes="1", striping_unit="131072", cb_buffer_size="65536")
                self.check(told["informed"], cb_nodes="1", striping_unit="131072", cb_buffer_size="32768", iez_mode="collective")
                counted = self.count()
                self.assertEqual((counted["aggregators"], counted["window_bytes"]), (1, 16384))
                # Of all three sessions; which way is faster is being tried.
                self.assertEqual(counted["calls"], 6)
                self.assertEqual(counted["collected_writes"] + counted["collected_reads"] + counted["passed"], 6)
                self.assertGreaterEqual(min(counted["collected_writes"], counted["collected_reads"]), 1)
                self.assertEqual({hint["key"]: hint["value"] for hint in counted["hints"]}["cb_buffer_size"], "32768")

    def test_off_and_on(self):
        for flavour in flavours():
            with self.subTest(flavour=flavour):
                lines = self.launch(flavour, "c", "off")
                self.assertIn("0 wrong", lines)
                told = self.told(lines)
                self.assertNotIn("CO", told["off"])
                self.check(told["on"], iez_mode="collective", CO="1")
                counted = self.count()
                self.assertEqual((counted["collected_writes"], counted["collected_reads"], counted["passed"]), (1, 1, 4))

    def test_the_environment_switches_it_off(self):
        for flavour in flavours():
            with self.subTest(flavour=flavour):
                lines = self.launch(flavour, "c", "info", IEZ_COLLECTIVE="iez_mode=off")
                self.assertIn("0 wrong", lines)
                self.assertNotIn("CO", self.told(lines)["written"])
                self.assertFalse(self.counters.exists())


class Requests(Case):
    def test_waited_for_by_every_call(self):
        for flavour in flavours():
            with self.subTest(flavour=flavour):
                self.assertIn("0 wrong", self.launch(flavour, "c", "requests", IEZ_COLLECTIVE="iez_mode=collective"))
                counted = self.count()
                self.assertEqual((counted["collected_writes"], counted["collected_reads"], counted["passed"]), (11, 10, 0))


class Fortran(Case):
    def test_every_call_is_served_once(self):
        if not shutil.which("gfortran"):
            self.skipTest("no Fortran compiler")
        for flavour in flavours():
            for module in ("mpi", "f08"):
                with self.subTest(flavour=flavour, module=module):
                    self.assertIn("0 wrong", self.launch(flavour, module, preload=False))
                    plain = self.file.read_bytes()
                    self.file.unlink()
                    lines = self.launch(flavour, module, IEZ_COLLECTIVE="iez_mode=collective")
                    self.assertIn("0 wrong", lines)
                    self.assertIn("mode collective", lines)
                    self.assertEqual(self.file.read_bytes(), plain)
                    counted = self.count()
                    self.assertEqual((counted["calls"], counted["collected_writes"], counted["collected_reads"], counted["passed"]), (18, 9, 9, 0))
                    self.file.unlink()


class Counters(Case):
    def test_bytes_add_up(self):
        blocks, size = 32, 65536
        for flavour in flavours():
            for nodes in (1, 2):
                with self.subTest(flavour=flavour, nodes=nodes):
                    self.launch(flavour, "c", "pattern", str(blocks), str(size), IEZ_COLLECTIVE=f"iez_ranks_per_node={RANKS // nodes}")
                    counted = self.count()
                    written = RANKS * blocks * size
                    self.assertEqual((counted["path"], counted["ranks"], counted["nodes"]), (str(self.file), RANKS, nodes))
                    self.assertEqual((counted["written_bytes"], counted["bytes"], counted["transferred_bytes"]), (written, 2 * written, 2 * written))
                    self.assertLess(counted["shared_bytes"], counted["bytes"])
                    # Blocks of all ranks are everywhere, so half of them is of the other node.
                    self.assertEqual(counted["sent_bytes"], 0 if nodes == 1 else written)
                    self.assertEqual(counted["transfers"], counted["rpc_transfers"])
                    self.assertEqual(counted["largest_write"], {"begin": 0, "end": written, "bytes": written, "ranks": RANKS,
                                                                "shortest_piece": size, "longest_piece": size, "interleaved": True})
                    seconds = counted["seconds"]
                    for part in seconds.values():
                        self.assertLessEqual(part["largest"], part["sum"])
                        self.assertLessEqual(part["aggregators"], part["sum"])
                    self.assertEqual(seconds["file"]["aggregators"], seconds["file"]["sum"])
                    total = sum(part["aggregators"] for part in seconds.values())
                    self.assertAlmostEqual(counted["communication_share"], 1 - seconds["file"]["sum"] / total, delta=0.0002)

    def test_nothing_without_a_file_or_a_call(self):
        for flavour in flavours():
            with self.subTest(flavour=flavour):
                self.launch(flavour, "c", "none")
                self.assertFalse(self.counters.exists())
                # A place where nothing can be written does not disturb the program.
                self.counters = self.folder / "nowhere" / "counters"
                self.assertIn("0 wrong", self.launch(flavour, "c", "pattern"))

    def test_files_of_one_run_are_lines(self):
        flavour = flavours()[0]
        for _ in range(2):
            self.launch(flavour, "c", "pattern", "32", "65536")
        self.assertEqual(len(self.counted()), 2)
        told = subprocess.run([IEZ, "collective", "explain", "--counters", self.counters], capture_output=True, text=True, check=True, timeout=60)
        self.assertEqual(told.stdout.count("1 write and 1 read collected"), 2)
        self.assertEqual(told.stderr, "")


if __name__ == "__main__":
    unittest.main()
