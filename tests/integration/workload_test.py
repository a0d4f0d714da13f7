#!/usr/bin/env python3
"""iez workload: names, sizes and bytes of every file; what is wrong is found; POSIX, MPI-IO and HDF5; processes that die."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

from folder_case import FolderCase

ROOT = pathlib.Path(__file__).resolve().parents[2]
IEZ = os.environ.get("IEZ", str(ROOT / "build/dev/apps/iez/iez"))
PRELOAD = pathlib.Path(IEZ).parents[2] / "preload/libiez.so"
MIB = 1 << 20
SANITIZED = os.environ.get("IEZ_SANITIZED") == "1"
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_btl_base_warn_component_unused": "0"}


def has_mpi(flavour):
    program = pathlib.Path(IEZ).parents[1] / "workload" / f"iez-workload-{flavour}"
    return program.exists() and shutil.which(f"mpirun.{flavour}") is not None


def processes_in(folder):
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if str(folder).encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                pass
    return found


class Workload(FolderCase):
    def run_workload(self, *words, status=0, prefix=(), **environment):
        result = subprocess.run([*prefix, IEZ, "workload", *map(str, words)], cwd=self.folder, env={**ENVIRONMENT, **environment},
                                capture_output=True, text=True, check=False, timeout=120, stdin=subprocess.DEVNULL)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result

    def answer(self, *words, **options):
        return json.loads(self.run_workload(*words, "--json", **options).stdout)

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_ior_file_per_process(self):
        told = self.answer("ior", "-o", "out", "-F", "-n", 3, "-b", "1M", "-t", "256K", "-s", 2, "-k", "--verify", "-C", "-e")
        self.assertEqual(self.names(), [f"out.{i:08}" for i in range(3)])
        self.assertEqual({path.stat().st_size for path in self.folder.iterdir()}, {2 * MIB})
        self.assertEqual((told["files"], told["bytes"], told["wrong_bytes"], told["verified"]), (3, 6 * MIB, 0, True))
        self.assertEqual([phase["access"] for phase in told["phases"]], ["write", "read"])
        self.assertGreater(told["write_mb_s"], 0)

    def test_every_repetition_has_files_of_its_own(self):
        told = self.answer("ior", "-o", "out", "-F", "-n", 2, "-b", "64K", "-t", "64K", "-i", 3, "-m", "-k", "--verify")
        self.assertEqual(self.names(), [f"out.{rank:08}.{step}" for rank in range(2) for step in range(3)])
        self.assertEqual((told["files"], told["bytes"], told["first_file"], len(told["phases"])), (6, 2 * 65536, "out.00000000.0", 6))
        self.run_workload("ior", "-o", "out", "-F", "-n", 2, "-b", "64K", "-t", "64K", "-i", 3, "-m")
        self.assertEqual(self.names(), [])

    def test_files_that_exist_are_written_over_if_asked_for(self):
        write = ("ior", "-o", "out", "-b", "64K", "-t", "64K", "-w", "-k")
        self.run_workload(*write)
        first = (self.folder / "out").stat()
        self.run_workload(*write, "-E", "--seed", 1)
        self.assertEqual((self.folder / "out").stat().st_ino, first.st_ino)
        self.run_workload("ior", "-o", "out", "-b", "64K", "-t", "64K", "-r", "-k", "--verify", "--seed", 1)
        with open(self.folder / "out", "rb"):  # its number cannot be used again meanwhile
            self.run_workload(*write)
            self.assertNotEqual((self.folder / "out").stat().st_ino, first.st_ino)

    def test_files_are_removed_unless_kept(self):
        self.run_workload("ior", "-o", "out", "-F", "-n", 2)
        self.assertEqual(self.names(), [])

    def test_shared_file_has_the_same_bytes_in_any_order(self):
        pieces = ("-n", 4, "-b", "64K", "-t", "4K", "-s", 5, "-k")
        self.run_workload("ior", "-o", "a", *pieces)
        self.run_workload("ior", "-o", "b", "-z", *pieces)
        self.assertEqual((self.folder / "a").read_bytes(), (self.folder / "b").read_bytes())
        self.assertEqual((self.folder / "a").stat().st_size, 4 * 5 * 65536)
        self.run_workload("ior", "-o", "c", "-n", 4, "-b", "64K", "-t", "32K", "-s", 5, "-k", "--seed", 1)
        self.assertNotEqual((self.folder / "a").read_bytes(), (self.folder / "c").read_bytes())

    def test_hacc_names_and_sizes(self):
        told = self.answer("hacc", 1000, "ck", "-n", 4, "--header", "4K", "-k", "--verify")
        self.assertEqual(self.names(), [f"ck-Part{i:08}-of-00000004.data" for i in range(4)])
        self.assertEqual({path.stat().st_size for path in self.folder.iterdir()}, {4096 + 38000})
        self.assertEqual(told["bytes"], 4 * 42096)

    def test_hacc_shared(self):
        told = self.answer("hacc", 1000, "ck", "-n", 4, "--header", "4K", "--shared", "-k", "--verify", "-C")
        self.assertEqual(self.names(), ["ck-Part00000000-of-00000001.data"])
        self.assertEqual((self.folder / self.names()[0]).stat().st_size, 4096 + 4 * 38000)
        self.assertEqual(told["wrong_bytes"], 0)

    def test_sizes_differ_as_told(self):
        self.run_workload("ior", "-o", "u", "-F", "-n", 6, "-b", "1M", "-t", "64K", "--sizes", "lognormal:1", "-k", "--verify")
        sizes = [path.stat().st_size for path in sorted(self.folder.iterdir())]
        self.assertGreater(len(set(sizes)), 3)
        self.run_workload("ior", "-o", "v", "-F", "-n", 6, "-b", "1M", "-t", "64K", "--sizes", "lognormal:1", "-k")
        self.assertEqual([path.stat().st_size for path in sorted(self.folder.glob("v.*"))], sizes)

    def test_flash(self):
        told = self.answer("flash", "ck", "-a", "POSIX", "-n", 3, "--blocks", 2, "-k", "--verify", "-C")
        self.assertEqual(self.names(), ["ck_chk_0001"])
        self.assertEqual((self.folder / "ck_chk_0001").stat().st_size, 24 * 3 * 2 * 512 * 8)
        self.assertEqual((told["workload"], told["files"], told["bytes"], told["wrong_bytes"]), ("flash", 1, 24 * 3 * 2 * 4096, 0))

    def test_chimera(self):
        told = self.answer("chimera", "cc", "-a", "POSIX", "-n", 3, "--grid", "9x5x7", "--files", 2, "--arrays", 3, "-k", "--verify", "-C")
        self.assertEqual(self.names(), ["cc-restart-01", "cc-restart-02"])
        self.assertEqual({path.stat().st_size for path in self.folder.iterdir()}, {3 * 9 * 5 * 7 * 8})
        self.assertEqual((told["files"], told["bytes"], told["wrong_bytes"]), (2, 2 * 3 * 9 * 5 * 7 * 8, 0))
        os.truncate(self.folder / "cc-restart-02", 100)
        self.assertIn("cc-restart-02", self.run_workload("chimera", "cc", "-a", "POSIX", "-n", 3, "--grid", "9x5x7", "--files", 2,
                                                         "--arrays", 3, "-r", status=1).stderr)

    def test_a_view_makes_the_same_file(self):
        pieces = ("-n", 4, "-b", "6K", "-t", "2K", "-s", 5, "-k")
        self.run_workload("ior", "-o", "pieces", *pieces)
        self.run_workload("ior", "-o", "view", "-U", "--verify", *pieces)
        self.assertEqual((self.folder / "pieces").read_bytes(), (self.folder / "view").read_bytes())

    def test_a_changed_byte_of_an_array_is_found(self):
        self.run_workload("chimera", "cc", "-a", "POSIX", "-n", 2, "--grid", "4x4x4", "--files", 1, "-k", "-w")
        with open(self.folder / "cc-restart-01", "r+b") as file:
            file.seek(777)
            byte = file.read(1)
            file.seek(777)
            file.write(bytes([byte[0] ^ 1]))
        result = self.run_workload("chimera", "cc", "-a", "POSIX", "-n", 2, "--grid", "4x4x4", "--files", 1, "-r", "--verify", status=1)
        self.assertIn("cc-restart-01: byte 777 is", result.stderr)

    def test_a_changed_byte_is_found(self):
        self.run_workload("ior", "-o", "out", "-F", "-n", 3, "-k", "-w")
        with open(self.folder / "out.00000001", "r+b") as file:
            file.seek(54321)
            byte = file.read(1)
            file.seek(54321)
            file.write(bytes([byte[0] ^ 1]))
        result = self.run_workload("ior", "-o", "out", "-F", "-n", 3, "-r", "--verify", status=1)
        self.assertIn("out.00000001: byte 54321 is", result.stderr)
        self.assertIn("1 bytes are wrong", result.stdout)
        self.run_workload("ior", "-o", "out", "-F", "-n", 3, "-r")  # nobody compares

    def test_a_short_file_is_an_error(self):
        self.run_workload("ior", "-o", "out", "-F", "-n", 2, "-k", "-w")
        os.truncate(self.folder / "out.00000001", 1000)
        self.assertIn("ends at 1000", self.run_workload("ior", "-o", "out", "-F", "-n", 2, "-r", status=1).stderr)

    def test_errors_are_told_once(self):
        result = self.run_workload("ior", "-o", "none/out", "-F", "-n", 4, status=1)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn("none/out.0000000", result.stderr)
        for words, part in ((("ior", "-o", "x", "-b", "10", "-t", "3"), "-b 10"), (("ior", "-o", "x", "-n", 0), "processes"),
                            (("ior", "-o", "x", "-c"), "-c"), (("ior", "-o", "x", "--sizes", "zipf"), "expected equal"),
                            (("ior", "-o", "x", "-F", "--view"), "--view: not with -F"),
                            (("flash", "x", "-a", "POSIX", "--blocks", 0), "--blocks 0"),
                            (("chimera", "x", "-a", "POSIX", "--grid", "8x8"), "three numbers like"),
                            (("chimera", "x", "-a", "POSIX", "--grid", "2x8x8", "-n", 7), "2 elements on 7 processes"),
                            (("hacc", 0, "x"), "particles"), (("rank", "file=x"), "iez workload")):
            with self.subTest(words=words):
                self.assertIn(part, self.run_workload(*words, status=2).stderr)

    def test_killed_parent_takes_its_processes_along(self):
        name = self.folder / "endless"
        with subprocess.Popen([IEZ, "workload", "ior", "-o", name, "-F", "-n", "3", "-b", "64M", "-i", "1000"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            self.wait(lambda: len(processes_in(name)) == 4)
            process.send_signal(signal.SIGKILL)
            process.wait(timeout=60)
        self.wait(lambda: not processes_in(name))

    def test_killed_process_ends_the_workload(self):
        # Small blocks: the processes meet all the time, so that the death is met while the parent reads, and while it writes.
        for turn, block in enumerate(["64M"] + ["64K"] * 9):
            name = self.folder / f"endless{turn}"
            with self.subTest(turn=turn), \
                    subprocess.Popen([IEZ, "workload", "ior", "-o", name, "-F", "-n", "3", "-b", block, "-t", "64K", "-i", "1000"],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
                self.wait(lambda name=name: len(processes_in(name)) == 4)
                os.kill(max(processes_in(name)), signal.SIGKILL)
                _, talk = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 1)
                self.assertIn("was ended by signal 9", talk)
                self.assertEqual(processes_in(name), [])

    def wait(self, condition):
        limit = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.02)

    @unittest.skipIf(SANITIZED, "the sanitizer's runtime must come first")
    def test_two_workloads_meet_before_each_phase(self):
        words = [IEZ, "workload", "ior", "-b", "1M", "-t", "64K", "-n", "2", "-i", "3", "--meet", "place", "--json"]
        first = subprocess.Popen([*words, "-o", "one"], cwd=self.folder, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
        second = self.run_workload("ior", "-b", "1M", "-t", "64K", "-n", "2", "-i", "3", "-o", "two", "--meet", "place")
        out, _ = first.communicate(timeout=60)
        self.assertEqual(first.returncode, 0)
        self.assertEqual(len(json.loads(out)["phases"]), 6)
        self.assertIn("write", second.stdout)
        self.assertEqual((self.folder / "place").stat().st_size, 12)
        refused = self.run_workload("ior", "-o", "one", "--meet", "place", status=1)
        self.assertIn("place: 12 have met there already", refused.stderr)
        wrong = self.run_workload("ior", "-o", "one", "--meet", "place", "--parties", "1", status=2)
        self.assertIn("--parties 1: expected 2 to 1000", wrong.stderr)

    def test_a_tracer_sees_ranks_and_bytes(self):
        traces = self.folder / "traces"
        traces.mkdir()
        self.run_workload("ior", "-o", self.folder / "out", "-F", "-n", 3, "-k", LD_PRELOAD=str(PRELOAD), IEZ_TRACE=str(traces),
                          IEZ_ONLY=str(self.folder))
        result = subprocess.run([IEZ, "trace", "export", traces], capture_output=True, text=True, check=True, timeout=60)
        rows = [line for line in result.stdout.splitlines() if "/out.0000000" in line]
        self.assertEqual(len(rows), 3, result.stdout)

    def mpi(self, flavour, interface):
        shared = self.answer("ior", "-a", interface, "-o", "shared", "-n", 3, "-s", 3, "--mpi", flavour, "--verify", "-C", "-k")
        self.assertEqual((shared["ranks"], shared["wrong_bytes"], shared["interface"]), (3, 0, interface))
        self.answer("ior", "-a", interface, "-o", "collective", "-n", 3, "-c", "--sizes", "uniform:0.5", "--mpi", flavour, "--verify")
        for more in ((), ("-c",)):
            self.answer("ior", "-a", interface, "-o", "view", "-n", 3, "-b", "5K", "-t", "1K", "-s", 7, "-U", *more, "--mpi", flavour, "--verify",
                        "-C")
        for more in ((), ("--independent",)):
            flash = self.answer("flash", "ck", "-a", interface, "-n", 3, "--blocks", 2, "--mpi", flavour, "--verify", "-C", *more)
            chimera = self.answer("chimera", "cc", "-a", interface, "-n", 3, "--grid", "6x5x4", "--files", 2, "--mpi", flavour, "--verify",
                                  "-C", *more)
            self.assertEqual((flash["interface"], flash["wrong_bytes"], chimera["wrong_bytes"]), (interface, 0, 0))
        self.answer("ior", "-a", interface, "-o", "each", "-F", "-n", 3, "--mpi", flavour, "--verify", "-k")
        self.assertEqual(self.names(), [*(f"each.{i:08}" for i in range(3)), "shared"])

    def test_mpi_io(self):
        for flavour in ("openmpi", "mpich"):
            with self.subTest(flavour=flavour):
                if not has_mpi(flavour):
                    self.skipTest(f"no {flavour}")
                self.mpi(flavour, "MPIIO")
                # the same bytes as by POSIX
                self.run_workload("ior", "-o", "posix", "-n", 3, "-s", 3, "-k")
                self.assertEqual((self.folder / "posix").read_bytes(), (self.folder / "shared").read_bytes())
                for interface in ("POSIX", "MPIIO"):
                    self.run_workload("flash", interface, "-a", interface, "-n", 3, "--blocks", 2, "-k", "--mpi", flavour)
                self.assertEqual((self.folder / "POSIX_chk_0001").read_bytes(), (self.folder / "MPIIO_chk_0001").read_bytes())
                for path in self.folder.iterdir():
                    path.unlink()

    @unittest.skipUnless(has_mpi("openmpi"), "no Open MPI")
    def test_hdf5(self):
        if "libhdf5" not in subprocess.run(["ldd", pathlib.Path(IEZ).parents[1] / "workload/iez-workload-openmpi"], capture_output=True,
                                           text=True, check=True, timeout=60).stdout:
            self.skipTest("no parallel HDF5")
        self.mpi("openmpi", "HDF5")
        self.assertEqual((self.folder / "shared").read_bytes()[:8], b"\x89HDF\r\n\x1a\n")

    def test_under_a_launcher(self):
        for flavour in ("openmpi", "mpich"):
            if not has_mpi(flavour):
                continue
            with self.subTest(flavour=flavour):
                told = self.answer("hacc", 500, "ck", "--header", "1K", "--verify", prefix=(f"mpirun.{flavour}", "-n", "3"))
                self.assertEqual((told["ranks"], told["files"], told["wrong_bytes"]), (3, 3, 0))


if __name__ == "__main__":
    unittest.main()
