#!/usr/bin/env python3
"""`iez trace`: what is imported, merged, shown and exported is what an independent reader finds; bad inputs leave nothing behind."""

import csv
import io
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import unittest

from folder_case import FolderCase

ROOT = pathlib.Path(os.environ.get("IEZ_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
IEZ = os.environ.get("IEZ", str(ROOT / "build/dev/apps/iez/iez"))
DARSHAN = pathlib.Path(os.environ.get("IEZ_TEST_DATA", ROOT / "tests/fixtures")) / "darshan"
LOGS = sorted(DARSHAN.glob("*.txt"))
GOODOST, MACSIO = DARSHAN / "sample-goodost-3.10.txt", DARSHAN / "macsio-3.21.txt"
HEAD = "file_name,write_bytes,stripe_count,mpi_rank,communicator_size"
NOT_KNOWN = -(1 << 63)


def run(*arguments, **options):
    return subprocess.run([IEZ, *map(str, arguments)], check=False, timeout=60, env={**os.environ, "LC_ALL": "C"},
                          **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True,
                             **({} if "input" in options else {"stdin": subprocess.DEVNULL}), **options})


def read_darshan(path):
    """name -> (written, read, lowest rank, ranks, stripe count) of what darshan-parser printed."""
    processes, files, stripes = 0, {}, {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# nprocs:"):
            processes = int(line.split()[-1])
        cells = line.split("\t")
        if line.startswith("#") or len(cells) < 6:
            continue
        module, rank, counter, value, name = cells[0], int(cells[1]), cells[3], cells[4], cells[5]
        if re.fullmatch(r"LUSTRE_COMP\d+_STRIPE_COUNT", counter):
            stripes[name] = max(stripes.get(name, 0), int(value))
        if module not in ("POSIX", "STDIO") or not (name.startswith("/") or name.isdigit()):
            continue
        what = counter.removeprefix(f"{module}_")
        if what in ("BYTES_WRITTEN", "BYTES_READ", "OPENS") and int(value) > 0:
            done = files.setdefault(name, {}).setdefault(what, {})
            done[rank] = done.get(rank, 0) + int(value)
    rows = {}
    for name, done in files.items():
        users = done.get("BYTES_WRITTEN") or done.get("BYTES_READ") or {}
        lowest, count = min(users, default=-1), len(users)
        if -1 in users:  # a record of all ranks together
            lowest, count = 0, processes
        rows[name] = (sum(done.get("BYTES_WRITTEN", {}).values()), sum(done.get("BYTES_READ", {}).values()), lowest, count,
                      stripes.get(name, 0))
    return rows, processes


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) % (1 << 64)
    return value


def file_slot(name, written=0, read=0, writes=0, first=0, last=0, stripes=0, creates=0, rename=0):
    return struct.pack("<II12Q2qIiIiII112s", 1, len(name), written, read, writes, 0, 0, 0, 0, 0, written, creates, 1, 0, first, last,
                       stripes, -1, 0, 0, rename, 0, name.encode())


def rename_slot(name, slot):
    return struct.pack("<IIIIq232s", 3, len(name), slot, 0, 0, name.encode())


def calls_slot(calls):
    """Of (slot, operation, offset, length, start, duration)."""
    body = b"".join(struct.pack("<IB3xQQqQ", *call) for call in calls)
    return struct.pack("<IIII", 4, len(calls), 7, 0) + body.ljust(240, b"\0")


def segment(slots, rank=-1, ranks=0, start=10**18, end=10**9, state=2, dropped=0, version=1):
    """The bytes of a process's segment, written from docs/formats/trace.md alone."""
    front = struct.pack("<8sIHHIIQIIIIqq64s64s128s", b"IEZTRACE", 0x01020304, version, 0, 512, 256, len(slots), 1, 100 + rank, 1, 1, start, 0,
                        b"node1", b"815", b"/usr/bin/app")
    changing = struct.pack("<QQqIiI", len(slots), dropped, end, state, rank, ranks)
    return (front + struct.pack("<Q", fnv(front))).ljust(384, b"\0") + changing.ljust(128, b"\0") + b"".join(slots)


class Case(FolderCase):
    def text(self, *arguments, **options):
        """What a command prints that succeeds silently."""
        result = run("trace", *arguments, **options)
        self.assertEqual((result.returncode, result.stderr), (0, ""), arguments)
        return result.stdout

    def document(self, *arguments, **options):
        lines = self.text("show", *arguments, "--json", **options).splitlines()
        self.assertEqual(len(lines), 1)
        return json.loads(lines[0])

    def rows(self, *arguments):
        return {row["name"]: row for row in self.document(*arguments)["rows"]}

    def assert_refused(self, result, status, *fragments):
        """One line that says it, and nothing on standard output."""
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(result.stdout or "", "")
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        for fragment in fragments:
            self.assertIn(str(fragment), result.stderr)


class Import(Case):
    def test_an_independent_reader_finds_the_same(self):
        self.assertEqual(len(LOGS), 6)
        for log in LOGS:
            with self.subTest(log=log.name):
                expected, processes = read_darshan(log)
                rows = list(csv.DictReader(io.StringIO(self.text("import", log))))
                self.assertEqual([row["file_name"] for row in rows], sorted(expected))
                for row in rows:
                    found = tuple(int(row[key]) for key in ("write_bytes", "read_bytes", "mpi_rank", "ranks", "stripe_count"))
                    self.assertEqual(found, expected[row["file_name"]], row["file_name"])
                    self.assertEqual(int(row["communicator_size"]), processes)

    def test_what_the_fixtures_hold(self):
        rows = self.rows(GOODOST)
        self.assertEqual(len(rows), 48)
        self.assertEqual({row["written"] for row in rows.values()}, {1 << 30})
        self.assertEqual({(row["name"][-8:], row["rank"]) for row in rows.values()}, {(f"{rank:08}", rank) for rank in range(48)})
        (shared,) = self.rows(DARSHAN / "example-3.10.txt").values()
        self.assertEqual((shared["ranks"], shared["stripe_count"]), (2048, 24))

    def test_anonymous_names(self):
        log = DARSHAN / "noposixopens-3.10.txt"
        self.assertIn("the log was made anonymous", run("trace", "show", log).stdout)
        rows = self.rows(log)
        self.assertEqual(rows["/global/project/3722469739"]["written"], 3337301)
        self.assertEqual(rows["/global/project/3706887080"]["read"], 603979776)

    def test_round_trip(self):
        for log in LOGS:
            with self.subTest(log=log.name):
                direct, merged, again = (self.folder / name for name in ("direct.csv", "run.ieztrace", "again.csv"))
                self.text("import", log, "-o", direct)
                self.text("import", log, "-o", merged)
                self.text("export", merged, "-o", again)
                self.assertEqual(direct.read_text(encoding="utf-8"), again.read_text(encoding="utf-8"))
                self.assertEqual(self.text("import", direct), direct.read_text(encoding="utf-8"))
                self.assertEqual(self.text("export", log), direct.read_text(encoding="utf-8"))

    def test_standard_input(self):
        for log in (MACSIO, GOODOST):
            self.assertEqual(self.text("import", "-", input=log.read_text(encoding="utf-8")), self.text("import", log))

    def test_csv_in_any_order_and_with_strange_names(self):
        name = '/scratch/a "b", c\n\t{0..3}'
        path = self.file("in.csv", 'communicator_size,mpi_rank,stripe_count,write_bytes,file_name,ranks\r\n4,,,12,"%s",\r\n' % name.replace('"', '""'))
        (row,) = self.document(path)["rows"]
        self.assertEqual((row["name"], row["written"], row["rank"], row["stripe_count"]), (name, 12, -1, 0))
        self.assertEqual(self.document(self.file("again.csv", self.text("export", path)))["rows"], [row])

    def test_lines_of_one_file_add_up(self):
        lines = "".join(f"/scratch/shared,{10 + rank},8,{rank},4,1\n" for rank in (2, 0, 3))
        (row,) = self.document(self.file("in.csv", f"{HEAD},ranks\n{lines}"))["rows"]
        self.assertEqual((row["written"], row["rank"], row["ranks"]), (35, 0, 3))

    def test_recorder(self):
        for rank, size in enumerate((100, 50)):
            self.file(f"rec/{rank}.txt", f"0.1 0.2 open 0 0 ( /scratch/a.{rank} 66 420 )\n0.2 0.3 write 0 0 ( /scratch/a.{rank} 0x1 {size} )\n")
        rows = self.rows(self.folder / "rec")
        self.assertEqual({(name, row["written"], row["rank"]) for name, row in rows.items()}, {("/scratch/a.0", 100, 0), ("/scratch/a.1", 50, 1)})
        self.assertEqual(self.document(self.folder / "rec")["form"], "recorder")


class Show(Case):
    def test_sorts_and_limits(self):
        path = self.file("in.csv", f"{HEAD},read_bytes,first_ns,last_ns\n/b,5,1,0,2,1,30,31\n/a,5,1,0,2,9,20,21\n/c,7,1,1,2,5,10,11\n")
        for sort, names in (("written", "cab"), ("read", "acb"), ("name", "abc"), ("time", "cab")):
            self.assertEqual([row["name"] for row in self.document(path, "--sort", sort)["rows"]], [f"/{name}" for name in names], sort)
        self.assertEqual(len(self.document(path, "--limit", 2)["rows"]), 2)
        self.assertEqual(self.document(path, "--limit", 2)["files"], 3)
        self.assertEqual(len(self.text("show", path, "--no-header", "-n", 1).splitlines()), 1)
        self.assertIn("... and 2 more; --limit 0 shows all", self.text("show", path, "-n", 1))
        many = self.text("show", GOODOST)
        self.assertEqual(many.count("testFile"), 20)
        self.assertEqual(self.text("show", GOODOST, "-n", 0).count("testFile"), 48)

    def test_several(self):
        documents = [json.loads(line) for line in self.text("show", MACSIO, GOODOST, "--json").splitlines()]
        self.assertEqual([document["path"] for document in documents], [str(MACSIO), str(GOODOST)])
        self.assertIn(f"{GOODOST}:\n", self.text("show", MACSIO, GOODOST))

    def test_totals(self):
        document = self.document(MACSIO)
        for key in ("written", "read"):
            self.assertEqual(document[key], sum(row[key] for row in document["rows"]))
        self.assertEqual((document["files"], document["ranks"], document["form"]), (len(document["rows"]), 16, "darshan 3.21"))

    def test_names_cannot_command_the_terminal(self):
        path = self.file("in.csv", f'{HEAD}\n"/scratch/\x1b[2J\x07",1,1,0,1\n')
        shown = self.text("show", path)
        self.assertNotIn("\x1b", shown)
        self.assertIn("\\x1b[2J\\x07", shown)


class Segments(Case):
    def ranks(self, count=4):
        """A segment a rank: a file of its own, written as a temporary one, and a shared one."""
        for rank in range(count):
            slots = [file_slot(f"/scratch/part.{rank}.tmp", written=1000 + rank, writes=3, first=1000 * rank, last=10**8, creates=1, rename=2),
                     rename_slot(f"/scratch/part.{rank}", 0),
                     file_slot("/scratch/shared", written=10, writes=1, first=5, last=6, stripes=8)]
            self.file(f"run/{rank}.ieztrace", segment(slots, rank=rank, ranks=count))
        return self.folder / "run"

    def test_a_folder(self):
        document = self.document(self.ranks())
        rows = {row["name"]: row for row in document["rows"]}
        self.assertEqual((document["processes"], document["ranks"], document["host"], document["job"], document["program"]),
                         (4, 4, "node1", "815", "/usr/bin/app"))
        self.assertEqual((rows["/scratch/shared"]["written"], rows["/scratch/shared"]["ranks"], rows["/scratch/shared"]["stripe_count"]), (40, 4, 8))
        for rank in range(4):
            row = rows[f"/scratch/part.{rank}.tmp"]
            self.assertEqual((row["renamed"], row["written"], row["rank"], row["ranks"], row["creates"], row["first_ns"]),
                             (f"/scratch/part.{rank}", 1000 + rank, rank, 1, 1, 10**18 + 1000 * rank))

    def test_merging_has_one_outcome(self):
        folder = self.ranks()
        outputs = []
        for name, inputs in (("whole", [folder]), ("reverse", sorted(folder.iterdir(), reverse=True)), ("small", [folder, "--memory", "1k"])):
            outputs.append(self.folder / f"{name}.ieztrace")
            summary = json.loads(self.text("merge", *inputs, "-o", outputs[-1], "--json"))
            self.assertEqual((summary["segments"], summary["files"], summary["rows"], summary["bad_segments"]), (4, 5, 8, 0))
        halves = [self.folder / "left.ieztrace", self.folder / "right.ieztrace"]
        for half, ranks in zip(halves, ((0, 3), (1, 2))):
            self.text("merge", *(folder / f"{rank}.ieztrace" for rank in ranks), "-o", half)
        outputs.append(self.folder / "halves.ieztrace")
        self.text("merge", *halves, "-o", outputs[-1])
        self.assertEqual(len({output.read_bytes() for output in outputs}), 1)
        self.assertEqual(self.document(outputs[0])["rows"], self.document(folder)["rows"])
        self.assertEqual(self.text("export", outputs[0]), self.text("export", folder))

    def test_a_bad_segment_among_good_ones(self):
        folder = self.ranks()
        self.file("run/4.ieztrace", b"IEZTRACE but not really")
        output = self.folder / "out.ieztrace"
        result = run("trace", "merge", folder, "-o", output, "--json")
        summary = json.loads(result.stdout)
        self.assertEqual((result.returncode, summary["segments"], summary["bad_segments"]), (0, 4, 1))
        self.assertIn("4.ieztrace", result.stderr)
        self.assertEqual(self.document(output)["files"], 5)

    def test_merged_with_nothing_that_can_be_read(self):
        empty = self.folder / "none"
        empty.mkdir()
        for path in (empty, self.folder / "missing", self.file("text", "hello\n")):
            with self.subTest(path=path.name):
                output = self.folder / "out.ieztrace"
                result = run("trace", "merge", path, "-o", output)
                self.assertEqual((result.returncode, result.stdout), (1, ""), result.stderr)
                self.assertIn(str(path), result.stderr)
                self.assertFalse(output.exists())

    def test_killed_and_full(self):
        path = self.file("x.ieztrace", segment([file_slot("/scratch/a", written=7)], end=NOT_KNOWN, state=1, dropped=3))
        notes = " ".join(self.document(path)["notes"])
        self.assertIn("3 records found no room", notes)
        self.assertIn("1 of 1 processes did not end by themselves", notes)

    def test_unused_files_can_be_dropped(self):
        path = self.file("x.ieztrace", segment([file_slot("/scratch/a", written=7), file_slot("/scratch/stat-only")]))
        self.assertEqual(len(self.text("export", path).splitlines()), 3)
        self.assertEqual(len(self.text("export", path, "--drop-unused").splitlines()), 2)

    def test_single_calls(self):
        calls = [(0, 2, 4096, 100, 2000, 50), (0, 2, 0, 4096, 1000, 500)]
        path = self.file("x.ieztrace", segment([file_slot("/scratch/a", written=4196, writes=2), calls_slot(calls)]))
        found = self.document(path, "--calls")["calls"]
        self.assertEqual([(call["call"], call["file"], call["offset"], call["length"], call["start_ns"], call["duration_ns"], call["thread"])
                          for call in found],
                         [("write", "/scratch/a", 0, 4096, 10**18 + 1000, 500, 7), ("write", "/scratch/a", 4096, 100, 10**18 + 2000, 50, 7)])
        self.assertIn("2 single calls", self.text("show", path, "--calls"))
        self.assert_refused(run("trace", "show", self.ranks(), "--calls"), 1, "--calls needs one segment")

    def test_the_reader_of_the_format_page(self):
        page = (ROOT / "docs/formats/trace.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
        self.assertEqual(len(blocks), 1)
        long_name = "/scratch/" + "/".join("n" * 100 for _ in range(8))
        table = self.file("t.csv", f"{HEAD},renamed_to,read_bytes\n{long_name},5,1,0,2,{long_name}.new,6\n/scratch/b,7,1,1,2,,8\n")
        for source in (table, *LOGS):
            with self.subTest(source=source.name):
                path = self.folder / "x.ieztrace"
                self.text("import", source, "-o", path)
                result = subprocess.run([sys.executable, "-c", blocks[0], path], capture_output=True, text=True, check=False, timeout=60)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                rows = self.document(path, "--sort", "name")["rows"]
                expected = [f'{row["name"]} {row["written"]} {row["read"]} {row["renamed"] or ""}' for row in rows]
                self.assertEqual(result.stdout.splitlines(), expected)

    def test_any_prefix_gives_what_is_whole(self):
        whole = self.folder / "whole.ieztrace"
        self.text("import", GOODOST, "-o", whole)
        data, names = whole.read_bytes(), [row["name"] for row in self.document(whole, "--sort", "name")["rows"]]
        self.assertEqual(len(data), 512 + 48 * 256)
        for size in (1, 7, 8, 12, 100, 320, 511):
            with self.subTest(size=size):
                path = self.file("cut.ieztrace", data[:size])
                self.assert_refused(run("trace", "show", path), 1, path, "expected")
        for size in (512, 513, 767, 768, 769, 1024, 5000, 12543, 12544, len(data) - 1):
            with self.subTest(size=size):
                path = self.file("cut.ieztrace", data[:size])
                result = run("trace", "show", path, "--json", "--sort", "name")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual([row["name"] for row in json.loads(result.stdout)["rows"]], names[:(size - 512) // 256])
                self.assertIn("it was cut; copy it again", result.stderr)


class Bad(Case):
    COMMANDS = (("trace", "show"), ("trace", "show", "--json"), ("trace", "export"), ("trace", "import"), ("trace", "import", "-o", "out.csv"),
                ("trace", "import", "-o", "out.ieztrace"), ("trace", "export", "-o", "out.csv"), ("forecast", "run"),
                ("forecast", "run", "--requests", "out.csv"))

    def test_inputs(self):
        whole = segment([file_slot("/scratch/a", written=7)])
        other_version = bytearray(whole)
        other_version[12] = 2
        foreign = bytearray(whole)
        foreign[200] ^= 1
        good = f"{HEAD}\n/scratch/a,1,1,0,1\n"
        (self.folder / "folder").mkdir()
        cases = [
            (self.file("empty", ""), "expected"),
            (self.file("zeros", b"\0" * 3000), "expected"),
            (self.file("program", b"\x7fELF\2\1\1" + bytes(range(256)) * 20), "expected"),
            (self.file("prose.txt", "Dear reader,\nthis is no trace.\n"), "expected"),
            (self.folder / "folder", "expected"),
            (self.folder / "missing", "No such file or directory"),
            (self.file("column.csv", good.replace(",communicator_size", "").replace(",1\n", "\n")), "communicator_size"),
            (self.file("unknown.csv", good.replace("stripe_count", "colour")), "colour"),
            (self.file("number.csv", good.replace("/a,1,", "/a,-1,")), "write_bytes"),
            (self.file("unit.csv", good.replace("/a,1,", "/a,1GiB,")), "write_bytes"),
            (self.file("short.csv", f"{HEAD}\n/scratch/a,1\n"), "short.csv:2"),
            (self.file("version.ieztrace", bytes(other_version)), "version 2"),
            (self.file("checksum.ieztrace", bytes(foreign)), "expected"),
        ]
        out = self.folder / "out"
        out.mkdir()
        for path, fragment in cases:
            for command in self.COMMANDS:
                with self.subTest(path=path.name, command=command):
                    self.assert_refused(run(*command, path, cwd=out), 1, f"iez {command[0]} {command[1]}: ", path, fragment)
                    self.assertEqual(list(out.iterdir()), [])

    def test_segments_cannot_be_piped(self):
        with open(self.file("x.ieztrace", segment([file_slot("/scratch/a", written=7)])), encoding="latin-1") as file:
            self.assert_refused(run("trace", "show", "-", stdin=file), 1, "standard input", "expected their path")

    def test_usage(self):
        for arguments in (("show",), ("show", "--sort", "colour", MACSIO), ("show", "--from", "xml", MACSIO), ("show", "-n", "-1", MACSIO), ("merge", MACSIO),
                          ("merge", "-o", "x"), ("export",), ("export", MACSIO, MACSIO), ("import", MACSIO, "--memory", "lots"), ()):
            with self.subTest(arguments=arguments):
                result = run("trace", *arguments, cwd=self.folder)
                self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
                self.assertIn("Try 'iez trace", result.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])


class Outputs(Case):
    COMMANDS = (("import", MACSIO), ("export", MACSIO))

    def test_standard_output_is_full(self):
        for command in (("show", MACSIO), ("show", MACSIO, "--json"), *self.COMMANDS):
            with self.subTest(command=command), open("/dev/full", "w", encoding="utf-8") as full:
                self.assert_refused(run("trace", *command, stdout=full), 1, "standard output: No space left on device")

    def test_no_folder(self):
        for command in (*self.COMMANDS, ("merge", self.whole())):
            for name in ("x.csv", "x.ieztrace"):
                with self.subTest(command=command, name=name):
                    self.assert_refused(run("trace", *command, "-o", self.folder / "nowhere" / name), 1, self.folder / "nowhere" / name)

    def whole(self):
        return self.file("in.ieztrace", segment([file_slot(f"/scratch/a.{i:0100}", written=7) for i in range(100)]))

    def test_no_room(self):
        """A limit on the size of files stands for a full device."""
        def limited():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        source = self.whole()
        for command in (("import", source, "-o", "out.csv"), ("import", source, "-o", "out.ieztrace"), ("export", source, "-o", "out.csv"),
                        ("merge", source, "-o", "out.ieztrace")):
            for before in (None, b"as it was"):
                with self.subTest(command=command[0], output=command[-1], before=before), tempfile.TemporaryDirectory() as folder:
                    output = pathlib.Path(folder) / command[-1]
                    if before:
                        output.write_bytes(before)
                    self.assert_refused(run("trace", *command, cwd=folder, preexec_fn=limited), 1, command[-1])
                    self.assertEqual([(path.name, path.read_bytes()) for path in output.parent.iterdir()], [(output.name, before)] if before else [])

    def test_what_is_no_file_is_not_replaced(self):
        """A device or a pipe that is given as output stays one."""
        for command in (("import", MACSIO), ("export", MACSIO), ("merge", self.whole())):
            for name in ("pipe.csv", "pipe.ieztrace"):
                with self.subTest(command=command[0], name=name):
                    pipe = self.folder / f"{command[0]}-{name}"
                    os.mkfifo(pipe)
                    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)  # nobody has to wait for the other end
                    try:
                        run("trace", *command, "-o", pipe)
                    finally:
                        os.close(reader)
                    self.assertTrue(stat.S_ISFIFO(pipe.lstat().st_mode))

    def test_an_earlier_file_is_replaced_as_a_whole(self):
        output = self.file("out.csv", "x" * 100000)
        self.text("import", MACSIO, "-o", output)
        self.assertEqual(output.read_text(encoding="utf-8"), self.text("import", MACSIO))
        self.assertEqual([path.name for path in self.folder.iterdir()], ["out.csv"])


class DarshanLog(Case):
    """Logs in Darshan's own form are read by darshan-parser: here by a script in its place, and by the real one where it is."""
    FRONT = b"3.21\0\0\0\0" + struct.pack("<Q", 6567223)

    def setUp(self):
        super().setUp()
        self.log = self.file("app run;$(touch oops)'.darshan", self.FRONT + b"\0" * 500)

    def with_parser(self, body, *arguments, **options):
        """Runs iez where a script of this body is darshan-parser."""
        script = self.file("bin/darshan-parser", f"#!/bin/sh\n{body}\n")
        script.chmod(0o755)
        return self.run_beside(self.folder / "bin", *arguments, **options)

    def run_beside(self, folder, *arguments, **options):
        path = os.pathsep.join(filter(None, (str(folder), "/usr/bin", "/bin")))
        return subprocess.run([IEZ, *map(str, arguments)], check=False, timeout=60, cwd=self.folder, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "LC_ALL": "C", "PATH": path}, **options)

    def test_is_read_as_its_text(self):
        told = self.with_parser(f'printf "%s\\n" "$#" "$1" >"{self.folder}/seen"; cat "{MACSIO}"', "trace", "show", "--json", self.log)
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        of_text = run("trace", "show", "--json", MACSIO)
        self.assertEqual({**json.loads(told.stdout), "path": ""}, {**json.loads(of_text.stdout), "path": ""})
        # One argument, as it is: no shell has seen it.
        self.assertEqual((self.folder / "seen").read_text(encoding="utf-8"), f"1\n{self.log}\n")
        self.assertFalse((self.folder / "oops").exists())
        out = self.folder / "out.csv"
        imported = self.with_parser(f'cat "{MACSIO}"', "trace", "import", self.log.name, "-o", out)
        self.assertEqual(imported.returncode, 0, imported.stderr)
        run("trace", "import", MACSIO, "-o", self.folder / "text.csv")
        self.assertEqual(out.read_bytes(), (self.folder / "text.csv").read_bytes())

    def test_a_name_that_looks_like_an_option(self):
        log = self.file("--help.darshan", self.FRONT)
        told = self.with_parser(f'case "$1" in /*) cat "{MACSIO}";; *) exit 9;; esac', "trace", "show", "--", log.name)
        self.assertEqual(told.returncode, 0, told.stderr)

    def test_parsers_that_do_not_do_their_work(self):
        out = self.folder / "out.csv"
        row = "POSIX\\t0\\t1\\tPOSIX_BYTES_WRITTEN\\t1\\t/a/%d\\t/\\text4"
        for what, body, expected in (
                ("prints nothing", "exit 0", "darshan-parser"),
                ("fails", "echo 'Error: unable to open log file.' >&2; exit 255", "darshan-parser failed (exit status 255): Error: unable to open log file."),
                ("fails half way", f'head -c 20000 "{MACSIO}"; exit 1', "darshan-parser failed (exit status 1)"),
                ("is killed", "kill -KILL $$", "darshan-parser failed (signal 9)"),
                ("prints something else", "echo usage: darshan-parser; echo a,b", "darshan-parser"),
                ("prints without end", f'cat "{MACSIO}"; while :; do cat "{MACSIO}"; done', "darshan-parser printed more than"),
                ("prints noise without end", "exec cat /dev/zero", "darshan-parser"),
                ("prints files without end", f"i=0; while :; do i=$((i+1)); printf '{row}\\n' $i; done | head -c 100000000", "darshan-parser printed more than")):
            with self.subTest(what):
                told = self.with_parser(body, "trace", "import", self.log, "-o", out)
                self.assertEqual((told.returncode, told.stdout), (1, ""))
                self.assertIn(str(self.log), told.stderr)
                self.assertIn(expected, told.stderr)
                self.assertFalse(out.exists())

    def test_without_a_parser_the_message_says_what_to_do(self):
        if self.parser():
            self.skipTest("darshan-parser is installed here")
        told = self.run_beside(self.folder, "trace", "show", self.log)
        self.assertEqual(told.returncode, 1)
        for words in (str(self.log), "darshan-parser", "install darshan-util", ">log.txt"):
            self.assertIn(words, told.stderr)

    def test_cannot_be_piped(self):
        with open(self.log, "rb") as log:
            self.assert_refused(run("trace", "show", "-", stdin=log), 1, "standard input", "expected its path")

    @staticmethod
    def parser():
        return shutil.which("darshan-parser")

    def test_with_the_real_one(self):
        """It refuses a log that is cut; what it can read is read, if IEZ_DARSHAN_LOGS names a folder of logs."""
        if not self.parser():
            self.skipTest("there is no darshan-parser in $PATH")
        told = run("trace", "show", self.log)
        self.assertEqual(told.returncode, 1)
        self.assertIn("darshan-parser", told.stderr)
        for log in sorted(pathlib.Path(os.environ.get("IEZ_DARSHAN_LOGS", self.folder / "none")).glob("**/*.darshan")):
            with self.subTest(log.name):
                text = self.file("log.txt", subprocess.run([self.parser(), log], check=True, stdout=subprocess.PIPE, timeout=60).stdout)
                of_log, of_text = run("trace", "show", "--json", log), run("trace", "show", "--json", text)
                self.assertEqual(of_log.returncode, of_text.returncode, of_log.stderr)
                if of_log.returncode == 0:
                    self.assertEqual({**json.loads(of_log.stdout), "path": ""}, {**json.loads(of_text.stdout), "path": ""})


if __name__ == "__main__":
    unittest.main()
