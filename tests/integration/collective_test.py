#!/usr/bin/env python3
"""MPI-IO with libiez-mpi-FLAVOUR.so in the program and without it, under Open MPI and MPICH: every byte, count, pointer and error.

The programs are those of tests/collective. What an MPI does wrong by itself is left out where its own code runs, and named here.
"""

import contextlib
import errno
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

from folder_case import FolderCase

PROGRAMS = pathlib.Path(os.environ["IEZ_COLLECTIVE_PROGRAMS"])
IEZ = os.environ["IEZ"]
LONG = os.environ.get("IEZ_LONG") == "1"
SANITIZED = os.environ.get("IEZ_SANITIZED") == "1"
MIB = 1 << 20
FLAVOURS = ("openmpi", "mpich")

# What the oracle may draw where the MPI's own code does the work (kinds of tests/collective/kinds.hpp): what it gets right. Each kind is
# tried with at least one of them. What they do wrong:
# - ROMIO, in Open MPI 4.1 and MPICH 4.0: fills holes behind the end of the file with what its buffer held; tells the full count at the end
#   of the file, and the pointer stays; ignores where a type of memory starts that is in one piece; takes pairs as if they had no hole; types
#   with bounds of their own inside others (resized, struct, subarray) come out wrong, or it loops or crashes; two threads in collective
#   calls on two files wait for each other for ever. In Open MPI nonblocking collectives jump to 0, and split ones of 0 bytes tell an old count.
# - OMPIO: a collective read in which one process starts later and ends earlier than another gives zeros for what lies behind; split and
#   nonblocking writes lose bytes of others; what is not synced is seldom, but sometimes, not seen after a barrier; MPI_File_sync fails after nonblocking calls; MPI_File_preallocate may not return.
SIMPLE = ("pointer,at,contiguous,vector,hvector,indexed,hindexed,indexed_block,hindexed_block,dup,old,zero,unsynced,seek,independent,large,append,"
          "remove,wronly,rdonly,self,sub,two,ordered,visible")
RIGHT = {
    ("openmpi", "romio321"): SIMPLE + ",overlap,size,atomic,memory,own_nonblocking,mixed,bottom",
    ("openmpi", "ompio"): SIMPLE + ",hints,memory,darray,resized,struct,etype,-unsynced",
    ("mpich", "romio"): SIMPLE + ",overlap,size,atomic,own_nonblocking,split,nonblocking,memory,struct,etype,bottom",
}
# With the library these calls are the MPI's as before: the oracle leaves them alone where it is strict about everything else.
# The size of a file and some hints are the MPI's, too.
NOT_OURS = ["independent", "own_nonblocking", "mixed", "size", "self", "sub", "atomic", "hints", "threads"]
# ROMIO writes scattered pieces by reading all between them and writing it back: what others write there meanwhile is lost. Told not to, it
# writes piece by piece.
SESSIONS = tempfile.TemporaryDirectory(prefix="iez-mpi-")  # as long as this runs
ROMIO_HINTS = tempfile.NamedTemporaryFile("w", prefix="iez-romio-", encoding="ascii")  # as long as this runs
ROMIO_HINTS.write("romio_ds_write disable\n")
ROMIO_HINTS.flush()
SERVED = set()  # flavours of which it has been seen that the library serves


def library(flavour):
    return os.environ.get(f"IEZ_MPI_{flavour.upper()}")


def program(name, flavour):
    return PROGRAMS / f"collective_{name}_{flavour}"


def has(name, flavour):
    return program(name, flavour).exists() and shutil.which(f"mpirun.{flavour}") is not None


def variants():
    for flavour in FLAVOURS:
        if has("oracle", flavour):
            yield from ((flavour, io) for of, io in RIGHT if of == flavour)


def environment(**more):
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("IEZ", "LD_PRELOAD", "OMPI_", "PMI", "SLURM_"))}
    # Waiting processes give way: there are more of them than processors. Launchers that start at the same time quarrel over one
    # directory for their sessions.
    return {**kept, "OMPI_MCA_orte_tmpdir_base": SESSIONS.name, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_btl_base_warn_component_unused": "0",
            "ROMIO_HINTS": ROMIO_HINTS.name, **more}


class Outcome:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def rows(self, step=None):
        rows = [json.loads(line) for line in self.out.splitlines() if line.startswith("{")]
        return [row for row in rows if step is None or row.get("step") == step]


class Case(FolderCase):
    def setUp(self):
        # In memory, where there is such a place.
        shared = pathlib.Path("/dev/shm")
        folder = tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else None)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_ranks(self, flavour, ranks, command, io=None, with_library=False, hints="", wrapper=(), seconds=120):
        """Ends within the time, or the test fails."""
        words = [*wrapper, f"mpirun.{flavour}", "-n", str(ranks)]
        if io and flavour == "openmpi":
            words += ["--mca", "io", io]
        # Into the ranks alone, not into the launcher.
        words += ["env", f"IEZ_COLLECTIVE={hints}", f"IEZ_COLLECTIVE_COUNTERS={self.folder / 'counters'}"]
        if with_library:
            words.append(f"LD_PRELOAD={library(flavour)}")
        words += map(str, command)
        with subprocess.Popen(words, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                              start_new_session=True) as process:
            try:
                out, err = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGTERM)  # the launcher ends its processes
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.communicate(timeout=10)
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                self.fail(f"not done in {seconds} s: {' '.join(words)}")
        return Outcome(process.returncode, out, err)

    def succeed(self, *arguments, **options):
        outcome = self.run_ranks(*arguments, **options)
        self.assertEqual(outcome.status, 0, f"{arguments}\n{outcome.out}{outcome.err}"[:4000])
        return outcome

    def small_disk(self):
        """Mounts 24 MiB of memory on a folder for what is started, and nobody else."""
        folder = self.folder / "small"
        folder.mkdir(exist_ok=True)
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        wrapper = ["unshare", *user, "--mount", "sh", "-c", 'mount -t tmpfs -o size=24m none "$0" && exec "$@"', str(folder)]
        if not shutil.which("unshare") or subprocess.run([*wrapper, "true"], capture_output=True, check=False, timeout=60).returncode != 0:
            self.skipTest("no mount of its own for a test")
        return wrapper, folder

    def require_library(self, flavour):
        if not library(flavour) or not has("oracle", flavour):
            self.skipTest(f"no {flavour}")

    def require_service(self, flavour):
        """The library does collective calls itself, and says so in its counters."""
        self.require_library(flavour)
        if b"MPI_File_write_all" not in pathlib.Path(library(flavour)).read_bytes():
            self.skipTest("the library has no collective calls")
        if flavour in SERVED:
            return
        self.succeed(flavour, 2, [program("faults", flavour), "write", self.folder / "probe", 8192, 1024], with_library=True,
                     hints="iez_mode=collective")
        self.assertGreater((self.folder / "counters").stat().st_size, 0)
        (self.folder / "probe").unlink()
        SERVED.add(flavour)


class Oracle(Case):
    def oracle(self, flavour, ranks, rounds, kinds, seed=1, **options):
        outcome = self.succeed(flavour, ranks, [program("oracle", flavour), "--seed", seed, "--rounds", rounds, "--kinds", kinds, "--dir",
                                                self.folder, "--timeout", 100], seconds=600, **options)
        self.assertIn(f"{ranks} ranks", outcome.out)

    def ranks(self, flavour):
        # MPICH polls while it waits: more processes than processors take very long.
        quick = {1: 10, 2: 20, 5: 12} if flavour == "openmpi" else {1: 10, 2: 12}
        many = {1: 100, 2: 200, 3: 200, 7: 100, 16: 40, 33: 15, 64: 6} if flavour == "openmpi" else {1: 100, 2: 150, 3: 60}
        return (many if LONG else quick).items()

    def test_plain(self):
        """The oracle itself is right: all MPIs agree with it."""
        for flavour, io in variants():
            for ranks, rounds in self.ranks(flavour):
                with self.subTest(flavour=flavour, io=io, ranks=ranks):
                    # OMPIO by itself loses bytes now and then where processes take long turns: in some hundred rounds, once.
                    self.oracle(flavour, ranks, min(rounds // 2, 15) if io == "ompio" else rounds // 2, RIGHT[flavour, io], io=io)

    def test_with_library(self):
        for flavour, io in variants():
            if library(flavour):
                for ranks, rounds in self.ranks(flavour):
                    with self.subTest(flavour=flavour, io=io, ranks=ranks):
                        self.oracle(flavour, ranks, rounds // 2, RIGHT[flavour, io], seed=2, io=io, with_library=True)

    def test_strict(self):
        """What the library does itself is right where the MPI is not. Views are of all kinds; MPICH cannot set some of them."""
        self.require_service("openmpi")
        kinds = ",".join(["all", *(f"-{kind}" for kind in NOT_OURS)])
        for ranks, rounds, seed in ((1, 6, 34), (2, 10, 32), (4, 10, 32)):
            with self.subTest(ranks=ranks):
                self.oracle("openmpi", ranks, rounds, kinds, seed=seed, with_library=True, hints="iez_mode=collective")

    def test_switching(self):
        """From collecting to the MPI's own way and back, every few calls, with calls that nobody asks about: no byte is lost, nobody waits."""
        for flavour, io in variants():
            if library(flavour):
                for every, nodes in ((1, ""), (3, ""), (4, ";iez_ranks_per_node=2")):
                    with self.subTest(flavour=flavour, io=io, every=every, nodes=nodes):
                        ranks = 4 if flavour == "openmpi" else 2
                        self.oracle(flavour, ranks, 40 if LONG else 6, RIGHT[flavour, io], seed=60 + every, io=io, with_library=True,
                                    hints=f"iez_switch_every={every}{nodes}")

    def test_threads(self):
        """Two threads of each process at a time, on files of their own."""
        self.require_service("openmpi")
        kinds = ",".join(["all", *(f"-{kind}" for kind in NOT_OURS if kind != "threads")])
        self.oracle("openmpi", 2, 20, kinds, seed=77, with_library=True, hints="iez_mode=collective")

    def test_switched_off(self):
        for flavour, io in variants():
            if library(flavour):
                with self.subTest(flavour=flavour, io=io):
                    self.oracle(flavour, 2, 5, RIGHT[flavour, io], seed=4, io=io, with_library=True, hints="iez_mode=off")


class Programs(Case):
    def both(self, name, flavour, ranks):
        """The bytes of the file that a program makes, without and with the library."""
        files = []
        for with_library in (False, True):
            file = self.folder / f"{name}.{flavour}.{with_library}"
            self.succeed(flavour, ranks, [program(name, flavour), file], with_library=with_library)
            files.append(file.read_bytes())
        return files

    def test_fortran(self):
        for flavour in FLAVOURS:
            if has("fortran", flavour) and library(flavour):
                for ranks in (1, 3):
                    with self.subTest(flavour=flavour, ranks=ranks):
                        plain, ours = self.both("fortran", flavour, ranks)
                        self.assertEqual(len(plain), len(ours))

    def test_libraries(self):
        seen = 0
        for flavour in FLAVOURS:
            for name in ("hdf5", "pnetcdf"):
                if has(name, flavour) and library(flavour):
                    seen += 1
                    for ranks in (1, 4):
                        with self.subTest(flavour=flavour, name=name, ranks=ranks):
                            plain, ours = self.both(name, flavour, ranks)
                            self.assertTrue(plain == ours, "the bytes differ")
        if seen == 0:
            self.skipTest("neither HDF5 nor PnetCDF for these MPIs")

    def test_workload(self):
        for flavour in FLAVOURS:
            self.workload(flavour, "MPIIO")
        if has("hdf5", "openmpi"):
            self.workload("openmpi", "HDF5")

    def workload(self, flavour, interface):
        # iez may be instrumented: then no library may come before the runtime of the sanitizer.
        for with_library in {False, bool(library(flavour)) and not SANITIZED}:
            with self.subTest(flavour=flavour, interface=interface, with_library=with_library):
                outcome = self.succeed(flavour, 3, [IEZ, "workload", "ior", "-a", interface, "-c", "-o", self.folder / "out", "-b", "64K", "-t",
                                                    "16K", "-s", 4, "-C", "--verify", "--json"], with_library=with_library)
                self.assertEqual(json.loads(outcome.out)["wrong_bytes"], 0)


class Faults(Case):
    def faults(self, flavour, case, ranks=4, total=4 * 65536, block=1024, folder=None, **options):
        return self.run_ranks(flavour, ranks, [program("faults", flavour), case, (folder or self.folder) / case, total // ranks, block],
                              seconds=60, **options)

    def agreed(self, outcome, step, ranks):
        """The class of the error that all processes were told of."""
        rows = outcome.rows(step)
        self.assertEqual(len(rows), ranks, outcome.out + outcome.err)
        classes = {row["class"] for row in rows}
        self.assertEqual(len(classes), 1, rows)
        return classes.pop()

    def told_truth(self, outcome, step, most):
        told = sum(row["bytes"] for row in outcome.rows(step))
        right = next(row["right"] for row in outcome.rows() if "right" in row)
        self.assertLessEqual(told, right)
        self.assertLessEqual(told, most)
        return told

    def test_disk_full(self):
        for flavour in FLAVOURS:
            for when, total in (("early", 64 * MIB), ("late", 26 * MIB)):
                with self.subTest(flavour=flavour, when=when):
                    self.require_service(flavour)
                    wrapper, folder = self.small_disk()
                    ranks = 4 if flavour == "openmpi" else 2
                    outcome = self.faults(flavour, "write", ranks=ranks, total=total, block=4096, folder=folder, wrapper=wrapper,
                                          with_library=True, hints="iez_mode=collective")
                    self.assertEqual(self.agreed(outcome, "write_all", ranks), "no_space")
                    told = self.told_truth(outcome, "write_all", 24 * MIB)
                    if when == "late":
                        self.assertGreater(told, 12 * MIB)

    def counters(self):
        return [json.loads(line) for line in (self.folder / "counters").read_text().splitlines()]

    def test_long_pieces_are_the_mpis(self):
        """And nothing is made ready for what is not collected."""
        for flavour in FLAVOURS:
            with self.subTest(flavour=flavour):
                self.require_service(flavour)
                (self.folder / "counters").unlink(missing_ok=True)
                outcome = self.faults(flavour, "write", ranks=2, total=8 * MIB, block=MIB, with_library=True)
                self.assertEqual(self.agreed(outcome, "write_all", 2), "success")
                self.assertIn({"right": 8 * MIB}, outcome.rows())
                row, = self.counters()
                self.assertEqual((row["aside"], row["passed"], row["collected_writes"], row["aggregator_ranks"]), (1, 1, 0, 0))
                self.assertEqual([(way["kept"], way["tried"]) for way in row["ways"]], [("pass", False)])
                (self.folder / "write").unlink()

    def test_both_ways_are_tried(self):
        """The slower one is dropped, whichever it is here."""
        for flavour in FLAVOURS:
            with self.subTest(flavour=flavour):
                self.require_service(flavour)
                (self.folder / "counters").unlink(missing_ok=True)
                # Calls of 8 MiB: smaller ones are not tried before they have taken long.
                outcome = self.faults(flavour, "signals", ranks=2, total=8 * MIB, block=16 * 1024, with_library=True)
                self.assertEqual(self.agreed(outcome, "signals", 2), "success")
                row, = self.counters()
                self.assertEqual(len(row["ways"]), 2, "writes and reads")
                for way in row["ways"]:
                    self.assertTrue(way["tried"])
                    self.assertGreaterEqual(way["dropped"], 1)  # where times vary much, there may be another trial under way
                self.assertEqual(row["calls"] + row["unasked"], 100)
                self.assertEqual(row["aside"] + row["unasked"], row["passed"])
                (self.folder / "signals").unlink()

    @contextlib.contextmanager
    def faulty(self, access, code, start, end):
        if not os.access("/dev/fuse", os.R_OK | os.W_OK):
            self.skipTest("no FUSE")
        root, mount = (pathlib.Path(tempfile.mkdtemp(dir=self.folder)) for _ in range(2))
        server = subprocess.Popen([PROGRAMS / "collective_faulty_fs", root, mount, access, str(code), str(start), str(end)])
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                while not os.path.ismount(mount):
                    self.assertIsNone(server.poll(), "the file system did not start")
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        server.wait(timeout=0.02)
            yield mount
        finally:
            subprocess.run(["fusermount3", "-u", "-z", mount], check=False, timeout=60)
            server.wait(timeout=60)

    def test_failing_disk(self):
        for flavour in FLAVOURS:
            for access in ("write", "read"):
                with self.subTest(flavour=flavour, access=access):
                    self.require_service(flavour)
                    ranks = 4 if flavour == "openmpi" else 2
                    with self.faulty(access, errno.EIO, MIB, MIB + 1) as mount:
                        outcome = self.faults(flavour, access, ranks=ranks, total=4 * MIB, block=4096, folder=mount, with_library=True,
                                              hints="iez_mode=collective")
                    self.assertEqual(self.agreed(outcome, f"{access}_all", ranks), "io")
                    if access == "write":
                        self.told_truth(outcome, "write_all", 4 * MIB - 1)

    def test_faulty_file_system_itself(self):
        """It fails what it should, and nothing else."""
        with self.faulty("write", errno.EIO, 5000, 6000) as mount:
            with open(mount / "file", "wb", buffering=0) as file:
                self.assertEqual(os.pwrite(file.fileno(), bytes(5000), 0), 5000)
                self.assertRaises(OSError, os.pwrite, file.fileno(), b"x", 5999)
                self.assertEqual(os.pwrite(file.fileno(), b"x", 6000), 1)
            self.assertEqual((mount / "file").stat().st_size, 6001)

    def test_killed(self):
        """The job ends, as it does without the library."""
        for flavour in FLAVOURS:
            if not has("faults", flavour):
                continue
            for with_library in (False, True):
                with self.subTest(flavour=flavour, with_library=with_library):
                    if with_library:
                        self.require_library(flavour)
                    outcome = self.faults(flavour, "killed", ranks=3, with_library=with_library)
                    self.assertNotEqual(outcome.status, 0)
                    self.assertEqual(outcome.rows("survived"), [])

    def test_signals(self):
        for flavour in FLAVOURS:
            if not has("faults", flavour):
                continue
            for with_library in (False, True):
                with self.subTest(flavour=flavour, with_library=with_library):
                    if with_library:
                        self.require_library(flavour)
                    ranks = 4 if flavour == "openmpi" else 2
                    outcome = self.faults(flavour, "signals", ranks=ranks, with_library=with_library)
                    self.assertEqual(outcome.status, 0, outcome.out + outcome.err)
                    self.assertEqual(self.agreed(outcome, "signals", ranks), "success")
                    self.assertEqual(outcome.rows("wrong_data"), [])
                    self.assertIn({"right": 4 * 65536}, outcome.rows())

    def test_bad_arguments(self):
        for flavour in FLAVOURS:
            for case in ("bad_count", "bad_type", "null_type"):
                with self.subTest(flavour=flavour, case=case):
                    self.require_service(flavour)
                    ranks = 4 if flavour == "openmpi" else 2
                    outcome = self.faults(flavour, case, ranks=ranks, with_library=True, hints="iez_mode=collective")
                    self.assertEqual(outcome.status, 0, outcome.out + outcome.err)
                    self.assertEqual(self.agreed(outcome, "bad", ranks), "count" if case == "bad_count" else "type")
                    self.assertEqual(self.agreed(outcome, "write_all", ranks), "success")
                    self.assertIn({"right": 4 * 65536}, outcome.rows())

    def test_write_to_a_file_open_for_reading(self):
        for flavour in FLAVOURS:
            with self.subTest(flavour=flavour):
                self.require_service(flavour)
                outcome = self.faults(flavour, "read_only", ranks=2, with_library=True, hints="iez_mode=collective")
                self.assertIn(self.agreed(outcome, "write_all", 2), ("read_only", "access", "amode"))
                self.assertEqual(sum(row["bytes"] for row in outcome.rows("write_all")), 0)


if __name__ == "__main__":
    unittest.main()
