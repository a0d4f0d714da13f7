#!/usr/bin/env python3
"""libiez.so inside other people's programs: nothing changes for them, and what they did to their files is told.

usage: preload_test.py LIBRARY PROGRAMS_FOLDER
"""

import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from folder_case import FolderCase

IEZ = os.environ["IEZ"]
SOURCE = pathlib.Path(os.environ["IEZ_SOURCE"])
LIBRARY = pathlib.Path(sys.argv[1]).resolve()
PROGRAMS = pathlib.Path(sys.argv[2]).resolve()
ESCAPES = PROGRAMS / "preload_escapes"
BEHAVIOUR = PROGRAMS / "preload_behaviour"
SIZE = 8192
MIB = 1 << 20


def plain_environment(**more):
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("IEZ", "LD_PRELOAD", "OMPI_", "PMI", "SLURM_"))}
    return {**kept, **more}


class Case(FolderCase):
    def setUp(self):
        super().setUp()
        self.traces = self.folder / "traces"
        self.traces.mkdir()
        self.work = self.folder / "work"
        self.work.mkdir()

    def run_plain(self, *command, **keywords):
        keywords.setdefault("env", plain_environment())
        return subprocess.run([str(part) for part in command], capture_output=True, check=False, timeout=120, **keywords)

    def run_with(self, *command, variables=None, **keywords):
        settings = {"IEZ_TRACE": str(self.traces)} if variables is None else variables
        return self.run_plain(*command, env=plain_environment(LD_PRELOAD=str(LIBRARY), **settings), **keywords)

    def trace(self, *options):
        result = subprocess.run([IEZ, "trace", "show", self.traces, "--json", *options], capture_output=True, check=False, timeout=120)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return json.loads(result.stdout)

    def rows(self):
        """By the name below the working folder."""
        prefix = f"{self.work}/"
        return {row["name"].removeprefix(prefix): row for row in self.trace()["rows"] if row["name"].startswith(prefix)}

    def segments(self):
        return sorted(self.traces.iterdir())


class Library(unittest.TestCase):
    def test_needs_libc_alone(self):
        dynamic = subprocess.run(["readelf", "-dW", LIBRARY], capture_output=True, text=True, check=True, timeout=60).stdout
        self.assertEqual(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic), ["libc.so.6"])
        self.assertNotIn("TEXTREL", dynamic)

    def test_shows_what_it_stands_before_and_nothing_else(self):
        listing = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True, timeout=60).stdout
        shown = {line.split()[-1] for line in listing.splitlines()}
        text = (SOURCE / "preload/libiez.map").read_text(encoding="utf-8")
        listed = set(re.findall(r"(\w+);", text.split("local:")[0]))
        self.assertEqual(shown, listed)
        header = (SOURCE / "preload/next_symbols.hpp").read_text(encoding="utf-8")
        known = set(re.findall(r"^ +X\([\w:]+\*?, (\w+),", header, flags=re.MULTILINE))
        self.assertLessEqual(known - {"ftello"}, shown)

    def test_thread_memory_is_initial_exec(self):
        flags = subprocess.run(["readelf", "-dW", LIBRARY], capture_output=True, text=True, check=True, timeout=60).stdout
        self.assertIn("STATIC_TLS", flags)
        undefined = subprocess.run(["nm", "-Du", LIBRARY], capture_output=True, text=True, check=True, timeout=60).stdout
        for symbol in ("__tls_get_addr", "malloc", "free", "calloc", "pthread_mutex_lock", "_Unwind_Resume", "printf", "exit"):
            self.assertNotRegex(undefined, rf"\b{symbol}(@|$)")


class Escapes(Case):
    """One way to write a file each: seen, or said to be unseen."""

    UNSEEN = {"raw", "mmap", "fallocate", "io_uring"}

    def test_all(self):
        for name in self.run_plain(ESCAPES).stdout.decode().split():
            with self.subTest(case=name):
                for path in (*self.traces.iterdir(), *self.work.iterdir()):
                    path.unlink()
                result = self.run_with(ESCAPES, name, self.work / "out")
                if result.returncode == 77:
                    print(f"skipped: {name}: {result.stderr.decode().strip()}", file=sys.stderr)
                    continue
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))
                self.assertEqual((self.work / "out").stat().st_size, SIZE)
                rows = [row for key, row in self.rows().items() if not key.endswith(".source")]
                seen, unseen = sum(row["written"] for row in rows), sum(row["unseen"] for row in rows)
                self.assertEqual((seen, unseen), (0, SIZE) if name in self.UNSEEN else (SIZE, 0))
                names = {row["name"] for row in rows} | {row["renamed"] for row in rows}
                self.assertIn(str(self.work / "out"), names)

    def test_static_binaries_are_left_alone(self):
        result = self.run_with(PROGRAMS / "preload_static", "creat", self.work / "out")
        self.assertEqual((result.returncode, result.stdout, result.stderr, self.segments()), (0, b"", b"", []))


class Behaviour(Case):
    """The same output, status and files with the library and without."""

    def both(self, name, status=0):
        plain, traced = self.folder / "plain", self.work
        plain.mkdir()
        expected = self.run_plain(BEHAVIOUR, name, plain, stdin=subprocess.DEVNULL)
        found = self.run_with(BEHAVIOUR, name, traced, stdin=subprocess.DEVNULL)
        self.assertEqual((found.returncode, found.stdout, found.stderr), (expected.returncode, expected.stdout, expected.stderr))
        self.assertEqual(found.returncode, status, found.stderr)
        self.assertEqual(self.segments() == [], False)

    def written(self):
        return {name: row["written"] for name, row in self.rows().items()}

    def test_errors(self):
        self.both("errors")
        self.assertEqual(self.rows()["a"]["renamed"], str(self.work / "b"))

    def test_bad_names(self):
        self.both("bad_names")

    def test_close_all(self):
        self.both("close_all")
        self.assertEqual(self.written(), {"one": 4096, "two": 8192, "three": 0})

    def test_threads(self):
        self.both("threads")
        self.assertEqual(self.written(), {"shared": 8 * 500 * 4096, **{f"own.{i}.{j}": 50 * 4096 for i in range(8) for j in range(10)}})
        self.assertEqual({row["opens"] for name, row in self.rows().items() if name != "shared"}, {50})

    def test_small_stack(self):
        self.both("small_stack")
        self.assertEqual(self.written(), {"small": 100 * 4096})

    def test_cancel(self):
        self.both("cancel")

    def test_signals(self):
        self.both("signals")
        rows = self.rows()
        self.assertEqual(rows["signals"]["written"], (self.work / "signals").stat().st_size)
        self.assertEqual(rows["signals"]["written"], rows["from-handler"]["written"])

    def test_fault(self):
        self.both("fault", 3)
        self.assertEqual(self.written(), {"before": 4096})

    def test_killed(self):
        self.both("killed", -signal.SIGKILL)
        written = self.written()
        self.assertEqual(written["killed"], 40960)
        self.assertGreaterEqual(written["stream"], 3 * MIB)
        self.assertIn("1 of 1 processes did not end by themselves", self.trace()["notes"])

    def test_aborted(self):
        self.both("aborted", -signal.SIGABRT)
        self.assertEqual(self.written(), {"aborted": 4096})

    def test_forks(self):
        self.both("forks")
        self.assertEqual(self.written(), {"parent": 5 * 4096, "child": 3 * 4096, "grandchild": 3 * 4096})
        trace = self.trace()
        self.assertEqual((trace["processes"], trace["notes"]), (7, []))

    def test_vforks(self):
        self.both("vforks")
        self.assertEqual(self.written(), {"kept": 8192, "other": 4096})
        self.assertEqual(self.trace()["notes"], [])

    def test_exec_fails(self):
        self.both("exec_fails")
        self.assertEqual((self.written(), self.trace()["notes"]), ({"after": 8192}, []))

    def test_exec_with_an_environment_of_its_own(self):
        self.both("exec_bare")
        self.assertEqual(self.rows()["bare"]["ranks"], 2)

    def in_memory(self):
        """A hundred thousand files on a disk take minutes to make and to remove."""
        if os.access("/dev/shm", os.W_OK):
            folder = tempfile.TemporaryDirectory(dir="/dev/shm")
            self.addCleanup(folder.cleanup)
            self.work = pathlib.Path(folder.name) / "work"
            self.work.mkdir()

    def test_many_files(self):
        self.in_memory()
        result = self.run_with(BEHAVIOUR, "many", self.work, variables={"IEZ_TRACE": str(self.traces), "IEZ_EXCEPT": ""})
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"made\n", b""))
        trace = self.trace("--limit", "1")
        self.assertEqual(len(self.segments()), 1)
        self.assertLessEqual(self.segments()[0].stat().st_size, 4 * MIB)
        dropped = re.fullmatch(r"(\d+) records found no room in their segments and are missing", trace["notes"][0])
        self.assertEqual(trace["files"] + int(dropped[1]), 100000)

    def test_more_descriptors_than_the_table_has(self):
        self.both("many_open")
        self.assertTrue(any("descriptors were beyond the tables" in note for note in self.trace()["notes"]), self.trace()["notes"])

    def test_names(self):
        self.both("names")
        names = set(self.written())
        self.assertLessEqual({"line\nbreak", "plain"}, names)
        self.assertTrue(any("not utf-8" in name for name in names))
        self.assertTrue(any(len(name) > 3600 for name in names))


class Settings(Case):
    def write(self, variables, *more):
        result = self.run_with("dd", "if=/dev/zero", f"of={self.work}/out", "bs=4k", "count=3", "status=none", *more, variables=variables)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))

    def test_nothing_is_asked_for(self):
        self.write({})
        self.assertEqual(self.segments(), [])

    def test_switched_off(self):
        self.write({"IEZ_TRACE": str(self.traces), "IEZ_DISABLE": "1"})
        self.assertEqual(self.segments(), [])

    def test_rank_and_job(self):
        for variables, expected in (({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "8", "SLURM_JOB_ID": "77", "SLURM_PROCID": "0"}, (3, 8, "77")),
                                    ({"PMI_RANK": "1", "PMI_SIZE": "2", "PBS_JOBID": "5.pbs"}, (1, 2, "5.pbs")),
                                    ({"PMIX_RANK": "4", "SLURM_NTASKS": "6", "IEZ_JOB": "mine"}, (4, 6, "mine")),
                                    ({"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}, (0, 1, "")), ({"PMI_RANK": "x"}, (-1, 0, ""))):
            with self.subTest(variables=variables):
                for path in self.segments():
                    path.unlink()
                self.write({"IEZ_TRACE": str(self.traces), **variables})
                trace = self.trace()
                self.assertEqual((trace["rows"][0]["rank"], trace["ranks"], trace["job"]), expected)
                self.assertEqual(pathlib.Path(trace["program"]).name, "dd")

    def test_only_and_except(self):
        self.write({"IEZ_TRACE": str(self.traces), "IEZ_ONLY": "/nowhere:/else"})
        self.assertEqual(self.segments(), [])
        self.write({"IEZ_TRACE": str(self.traces), "IEZ_EXCEPT": f"/x:{self.folder}/"})
        self.assertEqual(self.segments(), [])
        self.write({"IEZ_TRACE": str(self.traces), "IEZ_ONLY": f"{self.work}"})
        self.assertEqual(list(self.rows()), ["out"])

    @unittest.skipUnless(os.access("/dev/shm", os.W_OK), "/dev/shm cannot be written")
    def test_a_folder_that_is_asked_for_by_name_is_traced_wherever_it_is(self):
        with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="iez-only-") as folder:
            def traced(only):
                for path in self.segments():
                    path.unlink()
                self.run_with("sh", "-c", f"echo x > {folder}/out; echo y > /dev/null", variables={"IEZ_TRACE": str(self.traces), **only})
                return {row["name"] for row in self.trace()["rows"]} if self.segments() else set()

            self.assertEqual(traced({"IEZ_ONLY": folder}), {f"{folder}/out"})
            self.assertEqual(traced({"IEZ_ONLY": "/dev/shm"}), {f"{folder}/out"})
            self.assertEqual(traced({}), set())
            self.assertEqual(traced({"IEZ_ONLY": "/"}), set(), "all but what the system's folders have")
            self.assertEqual(traced({"IEZ_ONLY": folder, "IEZ_EXCEPT": "/dev"}), set(), "who says what is left out is obeyed")

    def test_single_calls(self):
        self.write({"IEZ_TRACE": str(self.traces), "IEZ_TRACE_CALLS": "1"}, "conv=fsync")
        shown = subprocess.run([IEZ, "trace", "show", self.segments()[0], "--json", "--calls"], capture_output=True, check=True, timeout=60)
        calls = [(call["call"], call["offset"], call["length"]) for call in json.loads(shown.stdout)["calls"] if call["file"].endswith("/out")]
        # dd moves the descriptor to number 1 by dup2, and closes the other.
        self.assertEqual(calls, [("open", 0, 0), ("close", 0, 0), ("write", 0, 4096), ("write", 4096, 4096), ("write", 8192, 4096), ("sync", 0, 0),
                                 ("close", 0, 0)])

    def test_a_segment_nobody_can_cut(self):
        self.write({"IEZ_TRACE": str(self.traces)})
        self.assertEqual(self.segments()[0].stat().st_mode & 0o7777, 0o400)
        self.assertGreaterEqual(self.segments()[0].stat().st_blocks * 512, 65536)

    def test_trace_directory_that_cannot_be_used(self):
        blocked = self.file("file", "")
        for path in (self.folder / "missing", blocked, "/proc", "/dev/null", "x" * 5000, ""):
            with self.subTest(path=str(path)[:50]):
                self.write({"IEZ_TRACE": str(path)})
        self.assertEqual(self.segments(), [])

    def test_limits_of_the_program(self):
        """A limit on the size of files would bring SIGXFSZ, a full disk SIGBUS."""
        script = f"ulimit -f 8; dd if=/dev/zero of={self.work}/out bs=1k count=4 status=none; echo $?"
        result = self.run_with("bash", "-c", script)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"0\n", b""))

    @unittest.skipIf(os.geteuid() != 0, "mounting needs root")
    def test_full_trace_directory(self):
        if self.run_plain("mount", "-t", "tmpfs", "-o", "size=160k", "tmpfs", self.traces).returncode != 0:
            self.skipTest("a tmpfs cannot be mounted here")
        try:
            result = self.run_with(BEHAVIOUR, "threads", self.work)
            self.assertEqual((result.returncode, result.stdout), (0, b"joined\n"), result.stderr)
            (self.traces / "fill").write_bytes(b"x" * 20 * 1024)
            for _ in range(4):
                self.write({"IEZ_TRACE": str(self.traces)})
        finally:
            self.run_plain("umount", self.traces)

    @unittest.skipIf(os.geteuid() != 0, "a mount namespace needs root")
    def test_site_switch(self):
        if self.run_plain("unshare", "-m", "true").returncode != 0:
            self.skipTest("no mount namespace can be had here")
        for text, segments in (("enabled=false\n", 0), ("# enabled=false\n", 1), (" enabled = false # for now\n", 0), ("enabled=true\n", 1)):
            with self.subTest(text=text):
                for path in self.segments():
                    path.unlink()
                self.file("etc/iez/preload.conf", text)
                script = (f"mount -t tmpfs tmpfs /etc && cp -r {self.folder}/etc/iez /etc/ && "
                          f"LD_PRELOAD={LIBRARY} IEZ_TRACE={self.traces} dd if=/dev/zero of={self.work}/out count=1 status=none")
                result = self.run_plain("unshare", "-m", "bash", "-c", script)
                self.assertEqual((result.returncode, len(self.segments())), (0, segments), result.stderr)


class WhatBecameOfFiles(Case):
    """When files were written and read, which of them did not survive, and whose layout they have."""

    def script(self, text, **variables):
        text = f"import os\nos.chdir({str(self.work)!r})\ndef put(name, flags=os.O_CREAT | os.O_WRONLY, **more):\n" \
               "    fd = os.open(name, flags, 0o600, **more)\n    os.write(fd, b'x' * 4096)\n    os.close(fd)\n" + text
        result = self.run_with(sys.executable, "-c", text, variables={"IEZ_TRACE": str(self.traces), **variables})
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))

    def test_times(self):
        before = time.time_ns()
        self.script("put('a')\nfd = os.open('a', os.O_RDWR)\nos.read(fd, 9)\nos.pwrite(fd, b'y', 5000)\nput('b')\n"
                    "os.open('c', os.O_CREAT)")
        after, tick = time.time_ns(), 8_000_000
        rows = self.rows()
        a, b, c = (rows[name] for name in "abc")
        for row, kind in ((a, "write"), (a, "read"), (b, "write")):
            times = [row["first_ns"], row[f"first_{kind}_ns"], row[f"last_{kind}_ns"], row["last_ns"]]
            self.assertEqual(times, sorted(times))
            self.assertTrue(before - tick <= times[0] and times[3] <= after + tick, (before, times, after))
        self.assertLessEqual(a["last_write_ns"], b["first_write_ns"] + tick)
        self.assertEqual([b["first_read_ns"], b["last_read_ns"]], [None, None])
        self.assertEqual([c["first_write_ns"], c["last_write_ns"], c["first_read_ns"]], [None, None, None])

    def test_a_write_begins_before_it_ends(self):
        # One call of 32 MiB takes longer than a tick of the clock.
        result = self.run_with("dd", "if=/dev/zero", f"of={self.work}/large", "bs=64M", "count=1", "status=none")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        row = self.rows()["large"]
        self.assertEqual(row["write_calls"], 1)
        self.assertLess(row["first_write_ns"], row["last_write_ns"])

    def test_waiting_for_what_was_written_is_writing(self):
        self.script("import time\nfor name in 'plain', 'synced', 'data', 'clean':\n    fd = os.open(name, os.O_CREAT | os.O_RDWR)\n"
                    "    name == 'clean' or os.write(fd, b'x')\n    end = time.monotonic() + 0.04\n"
                    "    while time.monotonic() < end: pass\n"
                    "    {'synced': os.fsync, 'clean': os.fsync, 'data': os.fdatasync}.get(name, int)(fd)\n")
        rows = self.rows()
        took = {name: row["last_write_ns"] - row["first_write_ns"] for name, row in rows.items() if row["first_write_ns"]}
        self.assertEqual(set(took), {"plain", "synced", "data"})
        self.assertLess(took["plain"], 20_000_000)
        self.assertGreater(min(took["synced"], took["data"]), 20_000_000)

    def test_streams_have_times(self):
        self.run_with(ESCAPES, "fwrite_unlocked", self.work / "out")
        row = self.rows()["out"]
        self.assertTrue(row["first_ns"] <= row["first_write_ns"] <= row["last_write_ns"] <= row["last_ns"])

    STREAMS = ("import ctypes, time\nlibc = ctypes.CDLL(None)\nlibc.fopen.restype = ctypes.c_void_p\n"
               "def wait():\n    end = time.monotonic() + 0.04\n    while time.monotonic() < end: pass\n"
               "def write(stream, size):\n    libc.fwrite(b'x' * size, 1, size, stream)\n"
               "streams = [ctypes.c_void_p(libc.fopen(name, b'wb')) for name in (b'first', b'second')]\n")

    def test_streams_that_wait_for_what_they_wrote(self):
        # Both are opened first, and then written one after the other: fsync belongs to the writing, the open does not.
        self.script(self.STREAMS + "for stream in streams:\n    wait()\n    write(stream, 8192)\n    libc.fflush(stream)\n"
                    "    wait()\n    libc.fsync(libc.fileno(stream))\n    libc.fclose(stream)\n")
        first, second = (self.rows()[name] for name in ("first", "second"))
        for row in first, second:
            self.assertGreater(row["first_write_ns"] - row["first_ns"], 20_000_000)
            self.assertGreater(row["last_write_ns"] - row["first_write_ns"], 20_000_000)
        self.assertGreater(second["first_write_ns"] - first["last_write_ns"], 20_000_000)

    def test_streams_that_are_closed_long_after(self):
        # What they still hold is no more than a rest: the last fwrite was the last write.
        for size, pieces in ((100, 3), (65536, 40)):
            with self.subTest(size=size):
                for path in self.segments():
                    path.unlink()
                self.script(self.STREAMS + f"for stream in streams:\n    wait()\n    for i in range({pieces}): write(stream, {size})\n"
                            "wait()\nfor stream in streams:\n    libc.fclose(stream)\n")
                first, second = (self.rows()[name] for name in ("first", "second"))
                self.assertEqual([first["written"], second["written"]], [size * pieces] * 2)
                self.assertGreater(second["first_write_ns"] - first["last_write_ns"], 20_000_000)

    def test_streams_that_print_first_begin_to_be_written_then(self):
        self.script(self.STREAMS + "wait()\nfor stream in streams:\n    libc.fputs(b'x', stream)\nwait()\n"
                    "for stream in streams:\n    write(stream, 8)\n    libc.fclose(stream)\n")
        row = self.rows()["first"]
        self.assertEqual(row["written"], 9)
        self.assertLess(row["first_write_ns"] - row["first_ns"], 20_000_000)

    def test_removed(self):
        self.script(
            "for name in 'kept', 'gone', 'again', 'by_rm', 'old', 'first', 'second', 'moved', 'back': put(name)\n"
            "os.unlink('gone')\nos.remove('again')\nput('again')\n"
            "put('new')\nos.rename('new', 'old')\n"            # old is another file now
            "os.rename('first', 'goal')\nos.rename('second', 'goal')\n"  # the first one does not survive, either
            "os.rename('moved', 'elsewhere')\nos.unlink('elsewhere')\n"
            "os.rename('back', 'there')\nos.rename('there', 'back')\n"
            "fd = os.open('.', os.O_RDONLY)\nput('at', dir_fd=fd)\nos.unlink('at', dir_fd=fd)\n"
            "put('scratch')\nos.unlink('scratch')\nos.mkdir('folder')\nos.rmdir('folder')\n"
            "import subprocess\nsubprocess.run(['rm', 'by_rm'], check=True)\n")
        rows = self.rows()
        self.assertEqual({name for name, row in rows.items() if row["removed"]},
                         {"gone", "by_rm", "old", "first", "moved", "at", "scratch"})
        self.assertEqual({name for name in rows} - {"kept", "again", "second", "back", "new"},
                         {"gone", "by_rm", "old", "first", "moved", "at", "scratch"})
        self.assertEqual(rows["second"]["renamed"], str(self.work / "goal"))
        self.assertIsNone(rows["back"]["renamed"])

    def test_removed_by_others_before_it_was_made(self):
        self.script("import subprocess\nput('a')\nsubprocess.run(['rm', 'a'], check=True)\nput('a')")
        self.assertEqual({name: row["removed"] for name, row in self.rows().items()}, {"a": False})

    def test_what_was_never_opened_is_no_row(self):
        (self.work / "old").write_bytes(b"")
        self.script("os.unlink('old')")
        self.assertEqual(self.rows(), {})

    def test_own_layout(self):
        self.script("put('own', os.O_CREAT | os.O_WRONLY | 0x2100)\nput('plain')")
        self.assertEqual({name: row["own_layout"] for name, row in self.rows().items()}, {"own": True, "plain": False})

    def test_times_of_many_files(self):
        self.script("for i in range(50): put(f'f{i}')\nfor i in range(0, 50, 2): os.unlink(f'f{i}')")
        self.assertEqual({name: row["removed"] for name, row in self.rows().items()}, {f"f{i}": i % 2 == 0 for i in range(50)})
        self.assertNotIn(None, {row["first_write_ns"] for row in self.rows().values()})


class Links(Case):
    """Files are known by the names of their real folders, whichever way the program takes to them."""

    def setUp(self):
        super().setUp()
        self.work = self.work.resolve()
        for name in ("real/deep", "other"):
            (self.work / name).mkdir(parents=True)
        (self.work / "link").symlink_to("real")
        (self.work / "deep").symlink_to(self.work / "real/deep")

    def opened(self, text, **variables):
        text = f"import os\nos.chdir({str(self.work)!r})\ndef make(name, **more): os.close(os.open(name, os.O_CREAT | os.O_WRONLY, **more))\n" + text
        result = self.run_with(sys.executable, "-c", text, variables={"IEZ_TRACE": str(self.traces), **variables})
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))
        return sorted(self.rows())

    def test_folders(self):
        self.assertEqual(self.opened(f"make('link/a')\nmake({str(self.work)!r} + '/link/b')\nmake('real/c')\nmake('link/./deep//d')\n"
                                     "os.chdir('link')\nmake('e')\nfd = os.open('../deep', os.O_RDONLY)\nmake('f', dir_fd=fd)\n"
                                     "open('../deep/g', 'w').close()"),
                         ["real/a", "real/b", "real/c", "real/deep/d", "real/deep/f", "real/deep/g", "real/e"])

    def test_parents_of_links(self):
        self.assertEqual(self.opened("make('deep/../up')\nmake('link/../flat')"), ["flat", "real/up"])
        self.assertTrue((self.work / "real/up").exists())

    def test_links_as_files(self):
        (self.work / "dangling").symlink_to("real/target")
        (self.work / "there").symlink_to("real/old")
        (self.work / "real/old").write_bytes(b"x")
        self.assertEqual(self.opened("make('dangling')\nmake('there')\nmake('real/old')"), ["real/old", "real/target"])
        self.assertEqual(self.rows()["real/old"]["opens"], 2)

    def test_links_that_change(self):
        self.assertEqual(self.opened("make('link/a')\nos.symlink('other', 'new')\nos.rename('new', 'link')\nmake('link/b')\n"
                                     "os.unlink('link')\nos.mkdir('link')\nmake('link/c')"), ["link/c", "other/b", "real/a"])

    def test_renames_and_removals(self):
        self.opened("make('link/a')\nos.rename('link/a', 'deep/b')\nmake('link/c')\nos.unlink('real/c')")
        rows = self.rows()
        self.assertEqual((rows["real/a"]["renamed"], rows["real/a"]["removed"]), (str(self.work / "real/deep/b"), False))
        self.assertTrue(rows["real/c"]["removed"])

    def test_only_below_a_link(self):
        for variables in ({"IEZ_ONLY": str(self.work / "link")}, {"IEZ_EXCEPT": f"{self.work}/other:{self.work}/deep/"}):
            with self.subTest(variables=variables):
                for path in self.segments():
                    path.unlink()
                self.assertEqual(self.opened("make('real/a')\nmake('link/b')\nmake('real/deep/c')\nmake('other/d')", **variables),
                                 ["real/a", "real/b"] + (["real/deep/c"] if "IEZ_ONLY" in variables else []))

    def test_one_question_a_folder(self):
        """What a folder is really called is asked for once, and not for every file."""
        if self.run_plain("strace", "-V").returncode != 0:
            self.skipTest("strace is not there")
        text = (f"import os\nos.chdir({str(self.work)!r})\nfor i in range(100):\n"
                "    os.close(os.open('link/%d' % i, os.O_CREAT | os.O_EXCL | os.O_WRONLY))")
        log = self.folder / "strace"
        result = self.run_plain("strace", "-f", "-o", log, "-e", "trace=openat,readlinkat", "-E", f"LD_PRELOAD={LIBRARY}", "-E",
                                f"IEZ_TRACE={self.traces}", sys.executable, "-c", text)
        if result.returncode != 0:
            self.skipTest("strace may not trace here")
        asked = [line for line in log.read_text(errors="replace").splitlines() if f'"{self.work}/link"' in line and "O_PATH" in line]
        self.assertGreaterEqual(len(asked), 1)
        self.assertLess(len(asked), 20)
        self.assertEqual(len(self.rows()), 100)


class Placing(Case):
    """On a file system that keeps layouts as Lustre does."""

    def setUp(self):
        super().setUp()
        if not os.access("/dev/fuse", os.R_OK | os.W_OK) or os.geteuid() != 0:
            self.skipTest("needs /dev/fuse and root")
        self.mount = self.folder / "mnt"
        self.mount.mkdir()
        (self.folder / "root").mkdir()
        server = subprocess.Popen([PROGRAMS / "preload_xattr_fs", self.folder / "root", self.mount])
        self.addCleanup(self.stop, server)
        for _ in range(200):
            if os.path.ismount(self.mount):
                break
            time.sleep(0.05)
        self.assertTrue(os.path.ismount(self.mount))
        self.plan = self.folder / "plan.iezplan"

    def stop(self, server):
        subprocess.run(["umount", "-l", self.mount], check=False, timeout=60)
        server.terminate()
        server.wait(30)

    def compile(self, *rows):
        table = self.file("plan.csv", "name,stripe_size,stripe_count,osts\n" + "".join(f"{row}\n" for row in rows))
        subprocess.run([IEZ, "plan", "compile", table, "-o", self.plan], check=True, capture_output=True, timeout=60)

    def placed(self, *command, **more):
        variables = {"IEZ_TRACE": str(self.traces), "IEZ_PLAN": str(self.plan), **more}
        result = self.run_with(*command, variables=variables)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return result

    def osts(self, name):
        shown = subprocess.run([IEZ, "layout", "show", self.mount / name, "--json"], capture_output=True, check=True, timeout=60)
        component = json.loads(shown.stdout)["components"][0]
        return [stripe["ost"] for stripe in component["objects"]]

    def counts(self):
        return {key: value for key, value in self.trace()["layouts"].items() if value}

    def test_64_files_of_dd(self):
        wanted = {f"out.{i}": [(i + j) % 5 for j in range(1 + i % 3)] for i in range(64)}
        self.compile(*(f'{self.mount}/{name},1M,,{" ".join(map(str, osts))}' for name, osts in wanted.items()))
        self.placed("bash", "-c", f"for i in $(seq 0 63); do dd if=/dev/zero of={self.mount}/out.$i bs=4k count=2 status=none; done")
        self.assertEqual({name: self.osts(name) for name in wanted}, wanted)
        self.assertEqual(self.counts(), {"applied": 64})
        row = next(row for row in self.trace()["rows"] if row["name"].endswith("/out.5"))
        self.assertEqual((row["creates"], row["written"], row["stripe_count"], row["stripe_size"]), (1, 8192, 3, MIB))

    def test_every_way_to_create(self):
        cases = ("creat", "creat64", "open64", "openat", "openat64", "fwrite_unlocked", "fprintf_chk", "unclosed", "append", "child")
        self.compile(*(f"{self.mount}/{case},1M,,3 1" for case in cases))
        for case in cases:
            with self.subTest(case=case):
                self.placed(ESCAPES, case, self.mount / case)
                self.assertEqual(((self.mount / case).stat().st_size, self.osts(case)), (SIZE, [3, 1]))

    def test_temporary_names(self):
        self.compile(f"{self.mount}/{{word*}}.{{any*}},1M,,2")
        # This file system knows no rename: the program ends there.
        self.run_with(ESCAPES, "mkstemp", self.mount / "final", variables={"IEZ_PLAN": str(self.plan)})
        made = [path.name for path in self.mount.iterdir()]
        self.assertEqual(len(made), 1)
        self.assertRegex(made[0], r"^final\.[A-Za-z0-9]{6}$")
        self.assertEqual(self.osts(made[0]), [2])

    def test_through_links(self):
        (self.mount / "folder").mkdir()
        (self.work / "link").symlink_to(self.mount / "folder")
        self.compile(*(f"{self.mount}/folder/{name},1M,,{ost}" for name, ost in (("a", 3), ("b", 4), ("c", 1))))
        self.placed("dd", "if=/dev/zero", f"of={self.work}/link/a", "bs=4k", "count=1", "status=none")
        self.placed("dd", "if=/dev/zero", f"of={self.work}/../work/link/b", "bs=4k", "count=1", "status=none", IEZ_ONLY=str(self.work / "link"))
        self.placed("bash", "-c", f"cd {self.work}/link && dd if=/dev/zero of=c bs=4k count=1 status=none")
        self.assertEqual([self.osts(f"folder/{name}") for name in "abc"], [[3], [4], [1]])
        self.assertEqual(self.counts(), {"applied": 3})

    def test_behind_links(self):
        """A link as the last part: what it leads to is planned, made and traced."""
        names = ["abs", "rel", "chain", "outside", "stream", "old"]
        self.compile(*(f"{self.mount}/{name},1M,,{ost}" for ost, name in enumerate(names[:5])), f"{self.mount}/old,1M,,4")
        for name in names:
            (self.work / name).symlink_to(self.mount / name)
        (self.work / "rel").unlink()
        (self.work / "rel").symlink_to(f"../{self.mount.relative_to(self.folder)}/rel")
        (self.work / "chain").rename(self.work / "first")
        (self.work / "chain").symlink_to("first")
        (self.work / "loop").symlink_to("loop")
        (self.work / "away").symlink_to("elsewhere")
        (self.mount / "old").write_bytes(b"x")
        script = ("import errno, os, sys\n"
                  f"os.chdir({str(self.work)!r})\n"
                  "for name in sys.argv[1:]: os.close(os.open(name, os.O_WRONLY | os.O_CREAT, 0o640))\n"
                  "for name, flags in (('loop', 0), ('abs', os.O_EXCL), ('rel', os.O_NOFOLLOW), ('none/x', 0), ('.', 0)):\n"
                  "  try: os.open(name, os.O_WRONLY | os.O_CREAT | flags)\n"
                  "  except OSError as error: print(errno.errorcode[error.errno])\n")
        told = self.placed(sys.executable, "-c", script, "abs", "./rel", f"{self.work}/chain", "away", "new", "old")
        self.assertEqual(told.stdout, b"ELOOP\nEEXIST\nELOOP\nENOENT\nEISDIR\n")
        self.placed(ESCAPES, "fprintf_chk", self.work / "stream")
        self.placed("dd", "if=/dev/zero", f"of={self.work}/outside", "bs=4k", "count=1", "status=none", IEZ_ONLY=str(self.mount))
        self.assertEqual([self.osts(name) for name in names[:5]], [[ost] for ost in range(5)])
        self.assertEqual(self.counts(), {"applied": 5, "existing": 1})
        rows = {row["name"]: row["creates"] for row in self.trace()["rows"]}
        for name in names[:5]:
            self.assertEqual(rows.get(f"{self.mount}/{name}"), 1, rows)
        self.assertEqual((rows[f"{self.work}/elsewhere"], rows[f"{self.work}/new"], rows[f"{self.mount}/old"]), (1, 1, 0))

    def test_own_layout_by_an_attribute(self):
        layout = struct.pack("<IIQQIHH", 0x0BD10BD0, 1, 0, 0, MIB, 2, 0xFFFF)
        script = (f"import os\nos.mknod('{self.mount}/own')\nos.setxattr('{self.mount}/own', 'lustre.lov', {layout!r})\n"
                  f"open('{self.mount}/own', 'w').close()\nopen('{self.mount}/plain', 'w').close()\n")
        self.compile(f"{self.mount}/planned,1M,,2")
        self.placed(sys.executable, "-c", script + f"open('{self.mount}/planned', 'w').close()")
        below = f"{self.mount}/"
        rows = {row["name"].removeprefix(below): row["own_layout"] for row in self.trace()["rows"] if row["name"].startswith(below)}
        self.assertEqual(rows, {"own": True, "plain": False, "planned": False})

    def test_existing_files_are_not_touched(self):
        (self.mount / "old").write_bytes(b"x")
        before = self.osts("old")
        self.compile(f"{self.mount}/old,1M,,4")
        self.placed("dd", "if=/dev/zero", f"of={self.mount}/old", "bs=4k", "count=1", "status=none")
        self.assertEqual((self.osts("old"), self.counts()), (before, {"existing": 1}))

    def test_what_is_cut_was_there(self):
        # This file system tells no birth, as Lustre before 2.15.
        command = ("sh", "-c", "for i in 1 2 3; do dd if=/dev/zero of=cut bs=4k count=1 status=none; sleep 0.1; : > emptied; done; : > new")
        (self.mount / "cut").write_bytes(b"x" * 4096)
        (self.mount / "emptied").write_bytes(b"x")
        time.sleep(0.1)
        self.run_with(*command, variables={"IEZ_TRACE": str(self.traces)}, cwd=self.mount)
        prefix = f"{self.mount}/"
        rows = {row["name"].removeprefix(prefix): row["creates"] for row in self.trace()["rows"] if row["name"].startswith(prefix)}
        self.assertEqual(rows, {"cut": 0, "emptied": 0, "new": 1})

    def test_refused(self):
        self.compile(f"{self.mount}/a,1M,,77", f"{self.mount}/b,1M,,5")
        for name in "ab":
            self.placed("dd", "if=/dev/zero", f"of={self.mount}/{name}", "bs=4k", "count=1", "status=none")
            self.assertEqual((self.mount / name).stat().st_size, 4096)
        counts = self.counts()
        self.assertEqual((counts["refused"], counts["errno"] > 0), (2, True))

    def test_elsewhere(self):
        self.compile(f"{self.work}/a,1M,,1")
        self.placed("dd", "if=/dev/zero", f"of={self.work}/a", "bs=4k", "count=1", "status=none")
        self.assertEqual(self.counts(), {"elsewhere": 1})

    def test_a_directory_that_is_made_after_an_open_failed_in_it(self):
        self.compile(f"{self.mount}/new/a,1M,,4", f"{self.mount}/new/b,1M,,3")
        script = (f"import os\nos.chdir({str(self.mount)!r})\n"
                  "def put(name): os.close(os.open(name, os.O_WRONLY | os.O_CREAT, 0o640))\n"
                  "try: put('new/a')\n"
                  "except FileNotFoundError: os.mkdir('new')\n"
                  "put('new/a')\nput('new/b')\n")
        self.placed(sys.executable, "-c", script)
        self.assertEqual((self.osts("new/a"), self.osts("new/b")), ([4], [3]))
        self.assertEqual(self.counts(), {"applied": 2})

    def test_directory_with_a_layout_of_its_own(self):
        directory = self.mount / "own"
        directory.mkdir()
        os.setxattr(directory, "lustre.lov", struct.pack("<IIQQIHH", 0x0BD10BD0, 1, 0, 0, MIB, 2, 0xFFFF))
        self.compile(f"{directory}/a,1M,,4", f"{directory}/b,1M,,4")
        self.placed("dd", "if=/dev/zero", f"of={directory}/a", "bs=4k", "count=1", "status=none")
        self.assertEqual(self.counts(), {"respected": 1})
        self.placed("dd", "if=/dev/zero", f"of={directory}/b", "bs=4k", "count=1", "status=none", IEZ_OVERRIDE_DIRECTORIES="1")
        self.assertEqual(self.osts("own/b"), [4])

    def test_many_creators_of_one_file(self):
        self.compile(f"{self.mount}/shared,1M,,4 2")
        variables = {"IEZ_TRACE": str(self.traces), "IEZ_PLAN": str(self.plan)}
        command = ["dd", "if=/dev/zero", f"of={self.mount}/shared", "bs=4k", "count=1", "conv=notrunc", "status=none"]
        running = [subprocess.Popen(command, env=plain_environment(LD_PRELOAD=str(LIBRARY), **variables)) for _ in range(16)]
        self.assertEqual([process.wait(60) for process in running], [0] * 16)
        self.assertEqual(self.osts("shared"), [4, 2])
        self.assertEqual(sum(self.counts().values()), 16)

    def test_creators_at_the_same_moment(self):
        # Whoever loses the race to create must not give the file the default layout before the winner has set the planned one.
        files, creators = 40, 6
        self.compile(*(f"{self.mount}/s{i},1M,,{i % 3} {3 + i % 2}" for i in range(files)))
        script = ("import os, sys, time\n"
                  "for i in range(int(sys.argv[2])):\n"
                  "    while time.time() < float(sys.argv[1]) + i * 0.02: pass\n"
                  f"    os.write(os.open('{self.mount}/s%d' % i, os.O_CREAT | os.O_WRONLY, 0o600), b'x')\n")
        environment = plain_environment(LD_PRELOAD=str(LIBRARY), IEZ_TRACE=str(self.traces), IEZ_PLAN=str(self.plan))
        command = [sys.executable, "-c", script, str(time.time() + 1), str(files)]
        running = [subprocess.Popen(command, env=environment) for _ in range(creators)]
        self.assertEqual([process.wait(60) for process in running], [0] * creators)
        self.assertEqual([self.osts(f"s{i}") for i in range(files)], [[i % 3, 3 + i % 2] for i in range(files)])
        self.assertEqual(self.counts()["applied"], files)

    def test_the_plan_stays_hidden(self):
        self.compile(f"{self.mount}/three,1M,,4")
        plain = self.run_plain(BEHAVIOUR, "close_all", self.work, stdin=subprocess.DEVNULL)
        placed = self.run_with(BEHAVIOUR, "close_all", self.mount, variables={"IEZ_PLAN": str(self.plan)}, stdin=subprocess.DEVNULL)
        self.assertEqual((placed.returncode, placed.stdout, placed.stderr), (plain.returncode, plain.stdout, plain.stderr))
        self.assertEqual(self.osts("three"), [4])

    def equal(self, case):
        for name in "xy":
            (self.mount / name).mkdir()
        plain = self.run_plain(BEHAVIOUR, case, self.mount / "y", stdin=subprocess.DEVNULL)
        placed = self.run_with(BEHAVIOUR, case, self.mount / "x", variables={"IEZ_PLAN": str(self.plan)}, stdin=subprocess.DEVNULL)
        self.assertEqual((plain.returncode, plain.stderr), (0, b""))
        self.assertEqual((placed.returncode, placed.stdout, placed.stderr), (plain.returncode, plain.stdout, plain.stderr))

    def test_equal_errors(self):
        self.compile(*(f"{self.mount}/x/{name},1M,,1" for name in ("a", "b", "f", "missing/x")))
        self.equal("errors")

    def test_equal_errors_of_bad_names(self):
        self.compile(*(f"{self.mount}/x/{name},1M,,3" for name in ("short", "xx", "cross")))
        self.equal("bad_names")
        self.assertEqual([self.osts(f"x/{name}") for name in ("short", "xx", "cross")], [[3]] * 3)

    def test_bad_plans(self):
        self.compile(f"{self.mount}/a,1M,,4")
        whole = self.plan.read_bytes()
        cuts = [b"", whole[:8], whole[:100], whole[:-1], b"\xff" * len(whole), whole[:64] + b"\xff" * (len(whole) - 64), os.urandom(4096)]
        for number, content in enumerate(cuts):
            with self.subTest(number=number):
                self.plan.unlink()
                self.plan.write_bytes(content)
                (self.mount / "a").unlink(missing_ok=True)
                self.placed("dd", "if=/dev/zero", f"of={self.mount}/a", "bs=4k", "count=1", "status=none")
                self.assertEqual((self.mount / "a").stat().st_size, 4096)
        for path in (self.folder / "missing", self.folder, "/dev/zero"):
            with self.subTest(path=str(path)):
                self.placed("dd", "if=/dev/zero", f"of={self.mount}/a", "bs=4k", "count=1", "status=none", IEZ_PLAN=str(path))

    def test_plan_cut_while_in_use(self):
        self.compile(*(f"{self.mount}/{name},1M,,4" for name in "ab"))
        script = f"echo x > {self.mount}/a; : > {self.plan}; echo x > {self.mount}/b; echo done"
        self.assertEqual(self.placed("bash", "-c", script).stdout, b"done\n")
        self.assertEqual(self.osts("a"), [4])
        self.assertEqual((self.mount / "b").stat().st_size, 2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
