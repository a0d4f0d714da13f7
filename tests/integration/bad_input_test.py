#!/usr/bin/env python3
"""Hostile input: captures that are cut, full of rubbish, huge, unreadable or changing. The program may leave out what it cannot read,
and says so, or fail and say why. It never crashes, never hangs, and never shows another number for a target that is intact."""

import atexit
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
IEZ = os.environ.get("IEZ", str(ROOT / "build/dev/apps/iez/iez"))
CAPTURES = pathlib.Path(os.environ.get("IEZ_TEST_DATA", ROOT / "tests/fixtures")) / "captures"
GOOD = "lustre-2.17.0-after"
TIMEOUT = 60  # seconds: far above what any of these takes
# Bytes, far below the largest input. A sanitizer holds freed memory back.
MEMORY = (300 << 20) * (4 if os.environ.get("IEZ_SANITIZED") == "1" else 1)
SEED = 20170

SPACE = "sys/fs/lustre/obdfilter/lustre-OST0002"
STATS = "sys/kernel/debug/lustre/obdfilter/lustre-OST0002/stats"
JOBS = "proc/fs/lustre/obdfilter/lustre-OST0002/job_stats"
DAMAGED = "lustre-OST0002"

RUBBISH = {
    "empty": b"",
    "newline": b"\n",
    "zeros": bytes(4096),
    "binary": random.Random(SEED).randbytes(20_000),
    "elf": b"\x7fELF\x02\x01\x01" + bytes(64),
    "2^64": b"18446744073709551616\n",
    "2^64-1": b"18446744073709551615\n",
    "2^200": b"1606938044258990275541962092341162602522202993782792835301376\n",
    "negative": b"-1\n",
    "letters behind": b"12abc\n",
    "hexadecimal": b"0x3c8504\n",
    "exponent": b"4e6\n",
    "fraction": b"3966212.5\n",
    "plus": b"+3966212\n",
    "two numbers": b"3966212 3966212\n",
    "html": b"<html><body>404</body></html>\n",
    "yaml": b"job_stats:\n- job_id: a\n",
    "invalid utf-8": b"\xff\xfe\xc3\x28\n",
    "escape codes": b"\x1b[2J\x1b]0;owned\x07\n",
    "no newline": b"3966212",
    "carriage return": b"39662\r12\n",
}


class Finished:
    def __init__(self, status, stdout, stderr, peak):
        self.status = status
        self.stdout = stdout
        self.stderr = stderr
        self.peak = peak  # bytes of memory


def run(*arguments, prefix=(), stdin=subprocess.DEVNULL, cwd=None, environment=None):
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen([*prefix, IEZ, *map(str, arguments)], stdin=stdin, stdout=out, stderr=err, cwd=cwd,
                                   env={**os.environ, **(environment or {})})
        deadline = time.monotonic() + TIMEOUT
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > deadline:
                process.kill()
                process.wait()
                raise AssertionError(f"iez {' '.join(map(str, arguments))}: still running after {TIMEOUT} s")
            time.sleep(0.002)
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode("utf-8", errors="surrogateescape"))
        return Finished(process.returncode, texts[0], texts[1], usage.ru_maxrss * 1024)


class Case(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.good_status = json.loads(run("status", "--root", CAPTURES / GOOD, "--json").stdout)
        cls.good_top = json.loads(run("top", "--root", CAPTURES / GOOD, "--per", "ost", "--json").stdout)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.tree = self.folder / GOOD  # the same name: it shows as the server's
        self.restore()

    def restore(self):
        if self.tree.exists():
            shutil.rmtree(self.tree)
        shutil.copytree(CAPTURES / GOOD, self.tree)

    def run_sound(self, *arguments, **options):
        """Runs a command that must end by itself, with 0 or 1, in little memory, with one JSON document or none."""
        result = run(*arguments, "--json", **options)
        what = f"iez {' '.join(map(str, arguments))}: status {result.status}\n{result.stderr[:2000]}"
        self.assertIn(result.status, (0, 1), what)
        self.assertLess(result.peak, MEMORY, what)
        self.assertNotIn("\x1b", result.stderr, what)
        if result.status == 1:
            self.assertEqual(result.stdout, "", what)
            self.assertRegex(result.stderr, r"(?m)^iez (status|top): \S", what)
            return result, None
        lines = result.stdout.splitlines()
        self.assertEqual(len(lines), 1, what)
        return result, json.loads(lines[0])

    def status(self, root=None, damaged=(DAMAGED,), **options):
        result, document = self.run_sound("status", "--root", root or self.tree, **options)
        if document:
            self.assert_intact_osts(document, damaged)
        return result, document

    def top(self, root=None, damaged=(DAMAGED,), **options):
        result, document = self.run_sound("top", "--per", "ost", "--root", root or self.tree, **options)
        if document:
            self.assert_intact_jobs(document, damaged)
        return result, document

    def assert_intact_osts(self, document, damaged, missing=False):
        good = {ost["name"]: ost for ost in self.good_status["filesystems"][0]["osts"]}
        shown = {ost["name"]: ost for view in document["filesystems"] for ost in view["osts"]}
        if not missing:
            self.assertLessEqual(set(good) - set(damaged), set(shown))
        for name, ost in shown.items():
            if ost["source"] == "obdfilter":
                keys = ("total_bytes", "free_bytes", "available_bytes", "used_bytes", "utilisation")
                self.assertEqual({key: ost[key] for key in keys}, {key: good[name][key] for key in keys}, name)
            else:
                self.assertIn(name, damaged, "another's point of view of an intact target")

    @staticmethod
    def parts(document):
        figures = ("read_bytes", "write_bytes", "read_calls", "write_calls", "operations")
        return {(job["job_id"], part["target"]): {key: part[key] for key in figures} for job in document["jobs"] for part in job["per_target"]}

    def assert_intact_jobs(self, document, damaged, missing=False):
        good, shown = self.parts(self.good_top), self.parts(document)
        if not missing:
            self.assertLessEqual({key for key in good if key[1] not in damaged}, set(shown))
        for key, figures in shown.items():
            if key[1] not in damaged:
                self.assertEqual(figures, good[key], key)
                continue
            # What stands before the damage may be shown; it is never more than there was.
            self.assertIn(key, good)
            for name, value in figures.items():
                self.assertLessEqual(value, good[key][name], (key, name))

    def assert_named(self, result, document, path, what=""):
        """Left out and reported with the file, and the line if it is about one; or refused with the file's name."""
        if document is None:
            self.assertIn(str(path), result.stderr, what)
            return
        self.assertGreater(document["skipped_rows"], 0, what)
        self.assertTrue(any(re.search(re.escape(str(path)) + r"([^:]*| [^ ]*) line \d+: |" + re.escape(str(path)) + r"[^:\s]*(:\d+ [^ ]*)?: ", problem)
                            for problem in document["problems"]), f"{what}: {document['problems']}")
        self.assertIn(str(path), result.stderr, what)


class Space(Case):
    """The one-number files of an OST."""

    def test_rubbish(self):
        for name in ("kbytestotal", "kbytesfree", "kbytesavail"):
            for kind, data in RUBBISH.items():
                with self.subTest(file=name, rubbish=kind):
                    path = self.tree / SPACE / name
                    good = path.read_bytes()
                    path.write_bytes(data)
                    result, document = self.status()
                    path.write_bytes(good)
                    self.assert_named(result, document, self.tree / SPACE)
                    self.assertNotEqual(self.source_of(document), "obdfilter")

    @staticmethod
    def source_of(document, name=DAMAGED):
        return next((ost["source"] for view in document["filesystems"] for ost in view["osts"] if ost["name"] == name), None)

    def test_cut_at_every_byte(self):
        for name in ("kbytestotal", "kbytesfree", "kbytesavail"):
            path = self.tree / SPACE / name
            good = path.read_bytes()
            for length in range(len(good)):
                path.write_bytes(good[:length])
                result, document = self.status()
                self.assert_named(result, document, self.tree / SPACE, f"{name} cut to {length} bytes")
            path.write_bytes(good)

    def test_numbers_that_cannot_all_be_true(self):
        for name, value in (("kbytesfree", "3966213"), ("kbytesavail", "3966213"), ("kbytestotal", "1"), ("kbytestotal", "0"),
                            ("kbytestotal", str(2**63)), ("kbytestotal", str(2**54))):
            with self.subTest(file=name, value=value):
                path = self.tree / SPACE / name
                good = path.read_bytes()
                path.write_text(f"{value}\n", encoding="utf-8")
                result, document = self.status()
                path.write_bytes(good)
                self.assert_named(result, document, self.tree / SPACE)

    def test_a_missing_file(self):
        for name in ("kbytesfree", "kbytesavail"):
            path = self.tree / SPACE / name
            good = path.read_bytes()
            path.unlink()
            # The back end has the same numbers under another name: nothing is lost.
            result, document = self.status()
            self.assertEqual((document["skipped_rows"], result.stderr), (0, ""))
            self.assertEqual(document["filesystems"], self.good_status["filesystems"])
            back_end = self.tree / "sys/fs/lustre/osd-ldiskfs" / DAMAGED / name
            back_end.unlink()
            result, document = self.status()
            self.assertGreater(document["skipped_rows"], 0)
            self.assertIn(name, result.stderr)
            self.assertIn(DAMAGED, result.stderr)
            path.write_bytes(good)
            back_end.write_bytes(good)

    def test_flags_full_of_rubbish(self):
        for name in ("degraded", "readonly", "no_create"):
            for kind in ("empty", "binary", "2^64", "negative", "letters behind", "no newline", "escape codes"):
                with self.subTest(file=name, rubbish=kind):
                    path = self.tree / SPACE / name
                    good = path.read_bytes()
                    path.write_bytes(RUBBISH[kind])
                    result, document = self.status(damaged=())
                    path.write_bytes(good)
                    self.assert_named(result, document, path)

    def test_nothing_readable_at_all(self):
        for path in self.tree.glob("sys/fs/lustre/*/*/kbytes*"):
            path.write_bytes(RUBBISH["binary"])
        result, document = self.status()
        self.assertIsNone(document)
        self.assertIn("kbytestotal", result.stderr)

    def test_imports_full_of_rubbish(self):
        # Only OSTs that others serve need the import: take the node's own away.
        shutil.rmtree(self.tree / "sys/fs/lustre/obdfilter")
        shutil.rmtree(self.tree / "sys/fs/lustre/osd-ldiskfs")
        names = tuple(f"lustre-OST000{index}" for index in range(6))
        path = self.tree / f"sys/kernel/debug/lustre/osp/{DAMAGED}-osc-MDT0000/import"
        good = path.read_bytes()
        for kind, data in RUBBISH.items():
            with self.subTest(rubbish=kind):
                path.write_bytes(data)
                result, document = self.run_sound("status", "--root", self.tree)
                self.assert_named(result, document, path)
                osts = {ost["name"]: ost for ost in document["filesystems"][0]["osts"]}
                self.assertEqual(tuple(osts), names)
        for length in range(0, len(good), 37):
            path.write_bytes(good[:length])
            result, document = self.run_sound("status", "--root", self.tree)
            self.assertEqual(len(document["filesystems"][0]["osts"]), 6)


class Jobs(Case):
    def test_rubbish(self):
        path = self.tree / JOBS
        for kind, data in RUBBISH.items():
            with self.subTest(rubbish=kind):
                if kind == "yaml":  # is what it should be
                    continue
                path.write_bytes(data)
                result, document = self.top()
                if kind in ("empty", "newline"):  # no job: what an idle server shows
                    self.assertEqual(document["skipped_rows"], 0)
                else:
                    self.assert_named(result, document, path)

    def test_yaml_that_is_almost_right(self):
        path = self.tree / JOBS
        good = path.read_text(encoding="utf-8")
        row = re.search(r"  write_bytes: .*\n", good)[0]
        for kind, bad in {
            "2^64 samples": re.sub(r"samples: +\d+", "samples: 18446744073709551616", row),
            "negative samples": re.sub(r"samples: +\d+", "samples: -1", row),
            "letters in samples": re.sub(r"samples: +\d+", "samples: 12abc", row),
            "2^64 bytes": re.sub(r"sum: +\d+", "sum: 18446744073709551616", row),
            "no sum": re.sub(r", sum: .*", " }", row),
            "no brace": row.replace("}", ""),
            "two braces": row.replace("{", "{ {", 1),
            "nested": "  write_bytes: " + "{ a: " * 5000 + "\n",
            "no colon": row.replace(":", "", 1),
            "tab": row.replace("  ", "\t", 1),
            "another format": "write_bytes               9 samples [bytes] 4194304 4194304 37748736\n",
        }.items():
            with self.subTest(kind=kind):
                path.write_text(good.replace(row, bad, 1), encoding="utf-8")
                result, document = self.top()
                self.assert_named(result, document, path)

    def test_job_ids(self):
        path = self.tree / JOBS
        row = "  read_bytes: { samples: 1, unit: bytes, min: 1, max: 1, sum: 1, sumsq: 1 }\n"
        for kind, line in {"cut quote": '- job_id: "abc\n', "bad escape": '- job_id: "a\\q"\n', "half escape": '- job_id: "a\\x4"\n',
                           "behind the quote": '- job_id: "a" b\n', "nul": "- job_id: a\0b\n", "long": f"- job_id: {'a' * 100_000}\n"}.items():
            with self.subTest(kind=kind):
                path.write_text(f"job_stats:\n{line}{row}- job_id: whole\n{row}", encoding="utf-8")
                result, document = self.run_sound("top", "--root", self.tree)
                self.assert_named(result, document, path)
                self.assertEqual([job["read_bytes"] for job in document["jobs"] if job["job_id"] == "whole"], [1])
                self.assertFalse([job["job_id"] for job in document["jobs"] if job["job_id"].startswith("a")])

    def test_ids_with_control_characters_are_shown_harmless(self):
        path = self.tree / JOBS
        path.write_text('job_stats:\n- job_id: "\\x1b[2J\\x0aroot"\n  punch: { samples: 1, unit: reqs }\n- job_id: \x1b[31mred\n'
                        "  punch: { samples: 1, unit: reqs }\n", encoding="utf-8")
        result = run("top", "--root", self.tree, "--limit", "0")
        self.assertEqual(result.status, 0)
        self.assertNotIn("\x1b", result.stdout + result.stderr)
        _, document = self.run_sound("top", "--root", self.tree)
        self.assertIn("\x1b[2J\nroot", [job["job_id"] for job in document["jobs"]])

    def test_cut_at_many_places(self):
        path = self.tree / JOBS
        good = path.read_bytes()
        places = sorted({*range(0, 400, 7), *random.Random(SEED).sample(range(len(good)), 100)})
        for length in places:
            path.write_bytes(good[:length])
            result, document = self.top()
            self.assertIsNotNone(document, length)
            if length and not good[:length].endswith((b"\n", b"}")):
                self.assert_named(result, document, path, f"cut to {length} bytes")

    def test_many_jobs_of_nothing(self):
        (self.tree / JOBS).write_text("job_stats:\n" + "".join(f"- job_id: j{i}\n" for i in range(30_000)), encoding="utf-8")
        _, document = self.run_sound("top", "--root", self.tree)
        self.assertGreaterEqual(document["jobs_seen"], 30_000)

    def test_counters_going_backwards(self):
        # A job that began anew: what it shows now is what it did since, never less than nothing.
        for path in self.tree.glob("proc/fs/lustre/*/*/job_stats"):
            path.write_text(re.sub(r"((?:samples|sum): +)(\d+)", lambda match: f"{match[1]}{int(match[2]) // 2}",
                                   path.read_text(encoding="utf-8")), encoding="utf-8")
        for path in [*self.tree.glob("sys/kernel/debug/lustre/obdfilter/*/stats"), *self.tree.glob("proc/fs/lustre/mdt/*/md_stats")]:
            path.write_text(re.sub(r"^(snapshot_time\s+)(\d+)", lambda match: f"{match[1]}{int(match[2]) + 10}",
                                   path.read_text(encoding="utf-8"), flags=re.MULTILINE), encoding="utf-8")
        result, document = self.run_sound("top", "--since", CAPTURES / GOOD, "--root", self.tree)
        self.assertGreater(document["restarted"], 10)
        self.assertEqual(document["interval_seconds"], 10)
        for job in document["jobs"]:
            self.assertAlmostEqual(job["write_rate"], job["write_bytes"] / 10, msg=job["job_id"])
            self.assertAlmostEqual(job["read_rate"], job["read_bytes"] / 10, msg=job["job_id"])
        self.assertTrue(next(job for job in document["jobs"] if job["job_id"] == "dd.0")["restarted"])

    def test_time_going_backwards(self):
        result, document = self.run_sound("top", "--since", CAPTURES / GOOD, "--root", CAPTURES / "lustre-2.17.0-before")
        self.assertIn("--since must name the earlier one", result.stderr)
        self.assertEqual((document["interval_seconds"], document["jobs"]), (None, []))
        text = (self.tree / STATS).read_text(encoding="utf-8")
        (self.tree / STATS).write_text(re.sub(r"(snapshot_time +)\d+", r"\g<1>1", text), encoding="utf-8")
        result, document = self.run_sound("top", "--since", CAPTURES / GOOD, "--root", self.tree, "--per", "ost")
        self.assertIn("1 targets were sampled before the earlier sample", result.stderr)
        for job in document["jobs"]:
            self.assertTrue(all(part["read_rate"] is None for part in job["per_target"] if part["target"] == DAMAGED))


class Huge(Case):
    LINE = 50 << 20
    SPARSE = 1 << 30

    def test_a_line_of_50_megabytes(self):
        for name in (f"{SPACE}/kbytesfree", JOBS, "sys/fs/lustre/version", "sys/fs/lustre/jobid_name"):
            for byte in (b"1", b" ", b"{"):
                with self.subTest(file=name, byte=byte):
                    path = self.tree / name
                    good = path.read_bytes()
                    with open(path, "wb") as file:
                        file.write(byte * self.LINE)
                    status, document = self.status()
                    if "kbytes" in name:
                        self.assert_named(status, document, self.tree / SPACE)
                    top, document = self.top()
                    if name == JOBS:
                        self.assert_named(top, document, path)
                    path.write_bytes(good)

    def test_a_gigabyte_of_zeros(self):
        for name in (JOBS, f"{SPACE}/kbytesfree"):
            path = self.tree / name
            good = path.read_bytes()
            os.truncate(path, 0)
            os.truncate(path, self.SPARSE)
            self.status()
            result, document = self.top()
            if name == JOBS:
                self.assert_named(result, document, path)
            path.write_bytes(good)

    def test_a_dump_of_zeros(self):
        path = self.folder / "zeros.txt"
        path.touch()
        os.truncate(path, self.SPARSE)
        result, document = self.status(path)
        self.assertIsNone(document)
        self.assertIn(str(path), result.stderr)


class Files(Case):
    """Things that are no ordinary files."""

    NAMES = (f"{SPACE}/kbytesfree", f"{SPACE}/degraded", JOBS, STATS, "sys/fs/lustre/version", "sys/fs/lustre/jobid_var")

    def each(self, act):
        """Calls act with each path, of which the file was taken away."""
        for name in self.NAMES:
            with self.subTest(file=name):
                self.restore()
                path = self.tree / name
                path.unlink()
                act(path)
        self.restore()

    def assert_jobs_named(self, path):
        """Counters that are there but cannot be read are not left out in silence: the sums of their jobs are too small."""
        result, document = self.top()
        if path.name == "job_stats":
            self.assert_named(result, document, path)

    def test_a_pipe_in_place_of_a_file(self):
        def act(path):
            os.mkfifo(path)
            status, status_document = self.status()
            top, top_document = self.top()
            if path.name == "kbytesfree":
                self.assert_named(status, status_document, path.parent)
            if path.name == "job_stats":
                self.assert_named(top, top_document, path)

        self.each(act)

    def test_a_directory_in_place_of_a_file(self):
        def act(path):
            path.mkdir()
            self.status()
            self.assert_jobs_named(path)

        self.each(act)

    def test_a_file_in_place_of_a_directory(self):
        shutil.rmtree(self.tree / SPACE)
        (self.tree / SPACE).write_text("1\n", encoding="utf-8")
        self.status()
        shutil.rmtree(self.tree / JOBS.rsplit("/", 1)[0])
        (self.tree / JOBS).parent.write_text("1\n", encoding="utf-8")
        self.top()
        shutil.rmtree(self.tree / "sys")
        (self.tree / "sys").write_text("", encoding="utf-8")
        result, document = self.status()
        self.assertIsNone(document)

    def test_a_link_to_nowhere(self):
        def act(path):
            path.symlink_to("nowhere")
            self.status()
            self.assert_jobs_named(path)

        self.each(act)

    def test_links_that_never_end(self):
        def act(path):
            path.symlink_to(path.name)
            self.status()
            self.assert_jobs_named(path)
            path.unlink()
            path.with_name("a").symlink_to("b")
            path.with_name("b").symlink_to("a")
            path.symlink_to("a")
            self.status()
            self.top()

        self.each(act)
        (self.tree / "sys/fs/lustre/obdfilter/lustre-OST0009").symlink_to("../obdfilter")
        self.status()

    def test_an_absolute_link_means_the_capture(self):
        path = self.tree / SPACE / "kbytesfree"
        path.unlink()
        path.symlink_to(f"/sys/fs/lustre/osd-ldiskfs/{DAMAGED}/kbytesfree")
        result, document = self.status(damaged=())
        self.assertEqual(document["filesystems"], self.good_status["filesystems"])
        (self.tree / JOBS).rename(self.tree / "kept")
        (self.tree / JOBS).symlink_to("/kept")
        result, document = self.top(damaged=())
        self.assertEqual(document["jobs"], self.good_top["jobs"])

    def test_no_link_leads_out_of_the_capture(self):
        outside = self.folder / "outside"
        outside.mkdir()
        (outside / "kbytesfree").write_text("1024\n", encoding="utf-8")
        (outside / "job_stats").write_text("job_stats:\n- job_id: outside\n  punch: { samples: 1, unit: reqs }\n", encoding="utf-8")
        up = "../" * 20
        for prefix in ("", up):
            for name in (f"{SPACE}/kbytesfree", JOBS):
                path = self.tree / name
                path.unlink()
                path.symlink_to(prefix + str(outside / path.name).lstrip("/") if prefix else str(outside / path.name))
                self.assertTrue(path.exists())  # it would be found from here
            _, document = self.status()
            self.assertNotIn(1024 * 1024, [ost["free_bytes"] for view in document["filesystems"] for ost in view["osts"]])
            _, document = self.top()
            self.assertNotIn("outside", [job["job_id"] for job in document["jobs"]])
            self.restore()

    def test_a_root_that_is_no_capture(self):
        for kind, root in (("missing", self.folder / "missing"), ("empty", self.folder / "empty"), ("device", pathlib.Path("/dev/null"))):
            with self.subTest(root=kind):
                if kind == "empty":
                    root.mkdir()
                for command in ("status", "top"):
                    result, document = self.run_sound(command, "--root", root)
                    self.assertIsNone(document)
                    if command == "status":
                        self.assertIn(root.name, result.stderr)


class Denied(Case):
    """Files that may not be read. As root the tests become nobody."""

    def setUp(self):
        super().setUp()
        self.prefix = ()
        self.program = IEZ
        if os.geteuid() == 0:
            if not shutil.which("setpriv"):
                self.fail("setpriv is missing: apt-get install util-linux")
            self.prefix = ("setpriv", "--reuid=65534", "--clear-groups")
            self.folder.chmod(0o755)
            self.program = self.folder / "iez"  # the build may lie where nobody may not look
            shutil.copy(IEZ, self.program)
        self.addCleanup(self.give_back)

    def give_back(self):
        subprocess.run(["chmod", "-R", "u+rwX", str(self.folder)], check=False, capture_output=True, timeout=60)

    def run_denied(self, command):
        result = subprocess.run([*self.prefix, str(self.program), *command, "--json"], capture_output=True, text=True, check=False,
                                timeout=TIMEOUT, stdin=subprocess.DEVNULL, cwd="/")
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return result, json.loads(result.stdout) if result.returncode == 0 else None

    def test_a_file(self):
        for name in ("kbytestotal", "kbytesfree", "degraded"):
            path = self.tree / SPACE / name
            path.chmod(0)
            result, document = self.run_denied(["status", "--root", str(self.tree)])
            path.chmod(0o644)
            self.assert_intact_osts(document, (DAMAGED,))
            self.assertIn(f"{path}: Permission denied", result.stderr)
            self.assertGreater(document["skipped_rows"], 0)
        (self.tree / JOBS).chmod(0)
        result, document = self.run_denied(["top", "--per", "ost", "--root", str(self.tree)])
        self.assert_intact_jobs(document, (DAMAGED,))
        self.assertIn(f"{self.tree / JOBS}: Permission denied", result.stderr)
        self.assertGreater(document["skipped_rows"], 0)

    def test_a_directory(self):
        (self.tree / SPACE).chmod(0)
        _, document = self.run_denied(["status", "--root", str(self.tree)])
        self.assert_intact_osts(document, (DAMAGED,))
        (self.tree / JOBS).parent.chmod(0)
        result, document = self.run_denied(["top", "--per", "ost", "--root", str(self.tree)])
        self.assert_intact_jobs(document, (DAMAGED,))
        self.assert_named(result, document, (self.tree / JOBS).parent)

    def test_debugfs_as_users_see_it(self):
        (self.tree / "sys/kernel/debug").chmod(0)
        result, document = self.run_denied(["status", "--root", str(self.tree)])
        self.assertEqual((document["filesystems"], result.stderr), (self.good_status["filesystems"], ""))
        result, document = self.run_denied(["top", "--per", "ost", "--root", str(self.tree)])
        self.assertEqual((document["jobs"], result.stderr), (self.good_top["jobs"], ""))

    def test_everything(self):
        for name in ("sys/fs/lustre", "proc/fs/lustre"):
            (self.tree / name).chmod(0)
        for command in ("status", "top"):
            result, document = self.run_denied([command, "--root", str(self.tree)])
            self.assertIsNone(document)
            self.assertIn("permission denied; run as root", result.stderr)
            self.assertIn(str(self.tree), result.stderr)
        self.tree.chmod(0)
        result, document = self.run_denied(["status", "--root", str(self.tree)])
        self.assertIsNone(document)
        self.assertIn(str(self.tree), result.stderr)


class Vanishing(Case):
    ROUNDS = 12
    CHURN = """
import os, pathlib, shutil, signal, sys, time
good, tree, parts = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:5]
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
stop = []
while not stop:
    for part in parts:
        shutil.rmtree(tree / part)
    time.sleep(0.001)
    for part in parts:
        shutil.copytree(good / part, tree / part)
    time.sleep(0.001)
"""

    def test_targets_that_come_and_go(self):
        parts = (SPACE, JOBS.rsplit("/", 1)[0])
        churn = subprocess.Popen([sys.executable, "-c", self.CHURN, str(CAPTURES / GOOD), str(self.tree), *parts])
        self.addCleanup(churn.wait)
        atexit.register(lambda: churn.poll() is None and churn.send_signal(signal.SIGKILL))
        for _ in range(self.ROUNDS):
            self.status()
            self.top()
        churn.terminate()
        self.assertEqual(churn.wait(TIMEOUT), 0)
        result, document = self.status(damaged=())
        self.assertEqual(document["filesystems"], self.good_status["filesystems"])

    def test_a_capture_that_is_taken_away_while_watched(self):
        process = subprocess.Popen([IEZ, "status", "--root", str(self.tree), "--watch", "--every", "20ms", "--count", "50", "--json"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stdout.readline()
        shutil.rmtree(self.tree)
        out, err = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 1)
        self.assertRegex(err, "no Lustre target|no OST can be read")  # the last look may fall into the middle of the removal
        for line in out.splitlines():
            json.loads(line)


class Versions(Case):
    def test_a_version_of_the_future(self):
        (self.tree / "sys/fs/lustre/version").write_text("2.99.0\n", encoding="utf-8")
        result, document = self.status(damaged=())
        self.assertEqual(document["filesystems"][0]["version"], "2.99.0")
        self.assertIn("runs Lustre 2.99.0, which iez has not been tried with", result.stderr)
        result, document = self.top(damaged=())
        self.assertEqual(document["jobs"], self.good_top["jobs"])

    def test_no_version(self):
        path = self.tree / "sys/fs/lustre/version"
        for data in (b"", b"banana\n", b"2\n", b"2.\n", RUBBISH["binary"], b"99999999999999999999.1\n"):
            path.write_bytes(data)
            _, document = self.status(damaged=())
            self.assertIsNone(document["filesystems"][0]["version"], data[:20])


class Dumps(Case):
    def test_no_section(self):
        path = self.folder / "dump.txt"
        for kind, data in {**RUBBISH, "prose": b"hello\nworld\n", "comment": b"# nothing\n"}.items():
            with self.subTest(kind=kind):
                path.write_bytes(data)
                for command in ("status", "top"):
                    result, document = self.run_sound(command, "--root", path)
                    self.assertIsNone(document)
                    self.assertIn(str(path), result.stderr)
                    self.assertIn("expected the text of 'lctl get_param'", result.stderr)

    def test_sections_of_others(self):
        path = self.folder / "dump.txt"
        path.write_text("a=b\nPATH=/bin\nobdfilter.x.kbytestotal=1\nobdfilter.fs-OST000g.kbytestotal=1\nosd-.fs-OST0000.kbytestotal=1\n",
                        encoding="utf-8")
        result, document = self.run_sound("status", "--root", path)
        self.assertIsNone(document)

    def test_cut_at_many_places(self):
        good = (CAPTURES / "get_param/valid2.txt").read_bytes()
        path = self.folder / "valid2.txt"
        path.write_bytes(good)
        _, whole = self.run_sound("status", "--root", path)
        osts = {ost["name"]: ost for ost in whole["filesystems"][0]["osts"]}
        shown = set()
        for length in range(0, len(good), 97):
            path.write_bytes(good[:length])
            _, document = self.run_sound("status", "--root", path)
            for ost in document["filesystems"][0]["osts"] if document else []:
                self.assertEqual(ost, osts[ost["name"]], f"cut to {length} bytes")
                shown.add(ost["name"])
        self.assertEqual(shown, set(osts))

    def test_every_byte_of_the_numbers(self):
        # The three numbers of each OST, cut within the last of them: never a smaller number.
        lines = [line for line in (CAPTURES / "get_param/valid2.txt").read_text(encoding="utf-8").splitlines() if ".kbytes" in line and "OST" in line]
        text = "\n".join(sorted(lines, key=lambda line: line.split(".")[1])) + "\n"
        path = self.folder / "valid2.txt"
        path.write_text(text, encoding="utf-8")
        _, whole = self.run_sound("status", "--root", path)
        osts = {ost["name"]: ost for ost in whole["filesystems"][0]["osts"]}
        for length in range(len(text)):
            path.write_text(text[:length], encoding="utf-8")
            result, document = self.run_sound("status", "--root", path)
            for ost in document["filesystems"][0]["osts"] if document else []:
                self.assertEqual(ost, osts[ost["name"]], f"cut to {length} bytes")

    def test_job_stats_cut_at_many_places(self):
        good = (CAPTURES / "get_param/2.14.0_ddn162_job_stats.txt").read_bytes()
        path = self.folder / "jobs.txt"
        path.write_bytes(good)
        _, whole = self.run_sound("top", "--per", "ost", "--root", path)
        expected = self.parts(whole)
        for length in random.Random(SEED).sample(range(len(good)), 100):
            path.write_bytes(good[:length])
            result, document = self.run_sound("top", "--per", "ost", "--root", path)
            for key, figures in self.parts(document).items() if document else []:
                for name, value in figures.items():
                    self.assertIn(value, {0, expected[key][name]} if name != "operations" else range(expected[key][name] + 1), (length, key))

    def test_sections_twice(self):
        good = (CAPTURES / "get_param/valid2.txt").read_bytes()
        path = self.folder / "valid2.txt"
        path.write_bytes(good)
        _, once = self.run_sound("status", "--root", path)
        path.write_bytes(good + good)
        _, twice = self.run_sound("status", "--root", path)
        self.assertEqual(twice, once)

    def test_windows_line_ends(self):
        good = (CAPTURES / "get_param/valid2.txt").read_bytes()
        path = self.folder / "valid2.txt"
        path.write_bytes(good)
        _, unix = self.run_sound("status", "--root", path)
        path.write_bytes(good.replace(b"\n", b"\r\n"))
        _, windows = self.run_sound("status", "--root", path)
        self.assertEqual(windows, unix)


class Tables(Case):
    def test_what_is_no_text_is_said_so(self):
        """Not that a quote or a column is missing in it."""
        rubbish = {"picture.png": b"\x89PNG\r\n\x1a\n" + bytes(4) + b"\rIHDR" + bytes(100), "program": b"\x7fELF\x02\x01\x01" + bytes(64) + b'"x"',
                   "rows.gz": b"\x1f\x8b\x08\x00\x00\x00\x00\x00" + bytes(50)}
        for name, content in rubbish.items():
            path = self.folder / name
            path.write_bytes(content)
            for command in (("place", "--root", CAPTURES / GOOD, "-q", path), ("forecast", "series", path), ("plan", "compile", path, "-o", self.folder / "x.iezplan"),
                            ("trace", "show", "--from", "csv", path), ("jobs", "ingest", path, "--store", self.folder / "jobs")):
                with self.subTest(command=command):
                    done = run(*command)
                    self.assertNotEqual(done.status, 0)
                    self.assertIn(str(path), done.stderr)
                    self.assertIn("not text", done.stderr)
                    self.assertNotIn("quote", done.stderr)


class Output(Case):
    COMMANDS = (("status", "--root", CAPTURES / GOOD), ("top", "--root", CAPTURES / GOOD), ("status", "--json", "--root", CAPTURES / GOOD),
                ("bench",), ("completion", "bash"), ("help",), ("--help",), ("status", "--help"), ("--version",),
                ("layout", "set", "--dry-run", "-c", "1", "/nowhere/x"))

    def test_a_full_disk(self):
        for command in self.COMMANDS:
            with self.subTest(command=command), open("/dev/full", "w", encoding="utf-8") as full:
                result = subprocess.run([IEZ, *map(str, command)], stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=TIMEOUT)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn("No space left on device", result.stderr)

    def test_no_output_at_all(self):
        for command in self.COMMANDS:
            with self.subTest(command=command):
                result = subprocess.run(["bash", "-c", 'exec "$@" >&-', "bash", IEZ, *map(str, command)], stderr=subprocess.PIPE, text=True,
                                        check=False, timeout=TIMEOUT)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn("Bad file descriptor", result.stderr)

    def test_all_three_closed(self):
        result = subprocess.run(["bash", "-c", 'exec "$@" <&- >&- 2>&-', "bash", IEZ, "status", "--root", str(self.tree)], check=False,
                                timeout=TIMEOUT, cwd=self.folder)
        self.assertEqual(result.returncode, 1)
        # The files it opens take the free numbers: nothing may have been written into them.
        self.assertEqual({path.relative_to(self.tree): path.read_bytes() for path in self.tree.rglob("*") if path.is_file()},
                         {path.relative_to(CAPTURES / GOOD): path.read_bytes() for path in (CAPTURES / GOOD).rglob("*") if path.is_file()})


if __name__ == "__main__":
    unittest.main()
