#!/usr/bin/env python3
"""`iez sim`: the same bytes every time and on any number of threads, bytes that are conserved, pages that are whole, and refusals in words."""

import csv
import html.parser
import json
import math
import os
import pathlib
import subprocess
import time
import unittest

from folder_case import FolderCase
from page_probe import on_a_telephone
from terminal import Session, output_on_terminal

ROOT = pathlib.Path(os.environ.get("IEZ_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
IEZ = os.environ.get("IEZ", str(ROOT / "build/dev/apps/iez/iez"))
MIB = 1 << 20
VOID = {"meta", "link", "br", "img", "input", "hr"}

SMALL = """# A small load. For tests.
name = "small"
machine = "iez-testbed"
interval = "50ms"
[[job]]
name = "ckpt"
processes = 8
block = "8MiB"
transfer = "1MiB"
stripe_count = 2
[congestion]
fixed = 4
"""
TWO_JOBS = SMALL + """
[[job]]
name = "late"
processes = 2
mode = "shared"
block = "4MiB"
stripe_count = 4
start = "100ms"
"""


def run(*arguments, **options):
    return subprocess.run([IEZ, "sim", *map(str, arguments)], check=False, timeout=120, env={**os.environ, "LC_ALL": "C"},
                          **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True,
                             **({} if "input" in options else {"stdin": subprocess.DEVNULL}), **options})


def numbers(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for item in value for number in numbers(item)]
    return [value] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


class Page(html.parser.HTMLParser):
    """Whether every element is closed in order, what there is, and what would be loaded."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.loads, self.text = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.loads += [name for name, _ in attrs if name in ("src", "href", "xlink:href", "data", "action")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        self.text.append(data)


class Case(FolderCase):
    def text(self, *arguments, **options):
        """What a command prints that succeeds silently."""
        result = run(*arguments, **options)
        self.assertEqual((result.returncode, result.stderr), (0, ""), arguments)
        return result.stdout

    def document(self, *arguments, **options):
        lines = self.text(*arguments, "--json", **options).splitlines()
        self.assertEqual(len(lines), 1)
        self.assertNotRegex(lines[0], r"(?i)\b(nan|inf(inity)?)\b")
        document = json.loads(lines[0])
        self.assertTrue(all(map(math.isfinite, numbers(document))))
        return document

    def assert_refused(self, status, fragments, *arguments, **options):
        before = sorted(self.folder.rglob("*"))
        result = run(*arguments, **options)
        self.assertEqual((result.returncode, result.stdout or ""), (status, ""), result.stderr)
        self.assertLessEqual(len(result.stderr.splitlines()), 2, result.stderr)
        for fragment in fragments:
            self.assertIn(str(fragment), result.stderr)
        self.assertEqual(sorted(self.folder.rglob("*")), before, "something was left behind")

    def assert_page(self, text):
        page = Page(text)
        self.assertEqual((page.open, page.loads), ([], []))
        self.assertTrue(text.startswith("<!DOCTYPE html>"))
        for word in ("http://", "https://", "src=", "@import", "url("):
            self.assertNotIn(word, text)
        self.assertNotIn("script", page.seen)
        self.assertIn("prefers-color-scheme:dark", text)
        self.assertNotRegex(text, r"[^a-z](nan|inf)[^a-z]")
        return page

    def small(self):
        return self.file("small.toml", SMALL)


class Run(Case):
    def test_a_table(self):
        lines = self.text("run", self.small()).splitlines()
        self.assertEqual(lines[0], "small on iez-testbed (2 nodes, 15 targets): 1 job, 67.1 MB")
        self.assertEqual(lines[2].split()[:3], ["BANDWIDTH", "TIME", "LATENCY"])
        self.assertNotIn("Jobs:", lines)
        self.assertIn("Jobs:", self.text("run", self.file("two.toml", TWO_JOBS)).splitlines())
        self.assertEqual(len(self.text("run", self.small(), "--no-header").splitlines()), 1)

    def test_json(self):
        document = self.document("run", self.file("two.toml", TWO_JOBS), "--samples")
        self.assertEqual((document["scenario"]["name"], document["scenario"]["machine"]["targets"], document["seeds"]), ("small", 15, 1))
        [one] = document["runs"]
        self.assertEqual(one["bytes"], 72 * MIB)
        self.assertAlmostEqual(one["bandwidth"], one["bytes"] / one["time_s"], delta=1)
        self.assertEqual([job["name"] for job in one["jobs"]], ["ckpt", "late"])
        self.assertEqual(sum(job["bytes"] for job in one["jobs"]), one["bytes"])
        self.assertEqual(sum(sample["bytes"] for sample in one["samples"]), one["bytes"])
        self.assertEqual(one["jobs"][1]["started_s"], 0.1)
        self.assertEqual((one["timeouts"], one["useless"], one["targets"]["count"]), (0, 0, 15))
        for latency in (one["latency"], *(job["latency"] for job in one["jobs"])):
            self.assertLessEqual(latency["mean_s"], latency["max_s"])
            self.assertLessEqual(latency["p50_s"], latency["p99_s"])
        self.assertTrue(0 < one["targets"]["busy_mean"] <= one["targets"]["busy_max"] <= 1)
        self.assertNotIn("samples", self.document("run", self.small())["runs"][0])

    def test_csv_conserves_bytes(self):
        path = self.folder / "trace.csv"
        self.text("run", self.small(), "--csv", path, "--sweep", "congestion.fixed=1,8", "--seeds", "2")
        with path.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        self.assertEqual({row["run"] for row in rows}, {"1", "2", "3", "4"})
        for number in "1234":
            mine = [row for row in rows if row["run"] == number]
            self.assertEqual(sum(int(row["bytes"]) for row in mine), 64 * MIB)
            times = [0.0, *(float(row["time_s"]) for row in mine)]
            self.assertEqual(times, sorted(times))
            moved = sum(float(row["bandwidth"]) * (to - since) for row, since, to in zip(mine, times, times[1:]))
            self.assertAlmostEqual(moved, 64 * MIB, delta=MIB / 100)
        self.assertEqual(self.text("run", self.small(), "--csv", "-").splitlines()[0],
                         "run,time_s,depth,requests,bytes,bandwidth,latency_s,latency_max_s,iops,active_clients,credits")

    def test_the_same_bytes_every_time(self):
        made = []
        for number, threads in enumerate(("1", "1", "2", "7")):
            page, trace = self.folder / f"{number}.html", self.folder / f"{number}.csv"
            arguments = ("run", self.file("two.toml", TWO_JOBS), "--sweep", "congestion.fixed=1..8*2", "--seeds", "3", "--jobs", threads)
            made.append((self.text(*arguments, "--html", page, "--csv", trace), self.text(*arguments, "--json", "--samples"),
                         page.read_bytes(), trace.read_bytes()))
        for other in made[1:]:
            self.assertEqual(other, made[0])

    def test_sweeps(self):
        document = self.document("run", self.small(), "--sweep", "job.0.processes=2,4", "--sweep", "congestion.fixed=1..4*2", "--set", "seed=9")
        self.assertEqual([[one["value"] for one in each["set"]] for each in document["runs"]],
                         [[processes, credits] for processes in "24" for credits in "124"])
        self.assertEqual([each["bytes"] for each in document["runs"]], [16 * MIB] * 3 + [32 * MIB] * 3)
        self.assertEqual({each["seed"] for each in document["runs"]}, {9})
        self.assertEqual(document["sweeps"][1], {"key": "congestion.fixed", "values": ["1", "2", "4"]})
        lines = self.text("run", self.small(), "--sweep", "congestion.fixed=1,4", "--plot").splitlines()
        self.assertEqual(lines[2].split()[:3], ["RUN", "congestion.fixed", "BANDWIDTH"])
        self.assertTrue(lines[-1].startswith("congestion.fixed=4  ###"))
        self.assertTrue("\n".join(lines).isascii())

    def test_seeds(self):
        document = self.document("run", self.small(), "--set", 'placement.policy="random"', "--seeds", "4")
        self.assertEqual([each["seed"] for each in document["runs"]], [1, 2, 3, 4])
        rates = [each["bandwidth"] for each in document["runs"]]
        [point] = document["points"]
        [figure] = [one for one in point["figures"] if one["figure"] == "bandwidth"]
        self.assertAlmostEqual(figure["mean"], sum(rates) / 4, delta=1)
        deviation = math.sqrt(sum((rate - figure["mean"]) ** 2 for rate in rates) / 3)
        self.assertAlmostEqual(figure["band"], 3.182 * deviation / 2, delta=1 + deviation / 1000)

    def test_pages_fit_a_telephone(self):
        small = self.small()
        swept, single, compared = (self.folder / f"{name}.html" for name in ("swept", "single", "compared"))
        self.text("run", small, "--html", swept, "--sweep", "congestion.fixed=1,4,16", "--seeds", "2")
        self.text("run", self.file("two.toml", TWO_JOBS), "--html", single)
        self.text("compare", small, small, "--html", compared, "--seeds", "2")
        on_a_telephone(self, swept, single, compared)

    def test_a_page(self):
        path = self.folder / "page.html"
        self.text("run", self.file("two.toml", TWO_JOBS.replace('"small"', '"a <b> & c"')), "--html", path)
        text = path.read_text(encoding="utf-8")
        page = self.assert_page(text)
        self.assertEqual(page.seen.count("svg"), 6)
        self.assertNotIn("<b>", text)
        self.assertIn("a <b> & c", page.text)
        self.text("run", self.small(), "--html", path, "--sweep", "congestion.fixed=1,4,16", "--seeds", "2")
        text = path.read_text(encoding="utf-8")
        self.assertEqual(self.assert_page(text).seen.count("svg"), 8)
        # The spread of the seeds is shaded, and has the signs of paper.
        self.assertIn('class="band', text)
        self.assertIn(" ± ", text)
        self.assertNotRegex(text, r"\+-|\d us\b")
        self.assert_page(self.text("run", self.small(), "--html", "-"))
        self.assertEqual(sorted(entry.name for entry in self.folder.iterdir()), ["page.html", "small.toml", "two.toml"])

    def test_on_a_terminal(self):
        shown, status = output_on_terminal((IEZ, "sim", "run", str(self.small()), "--sweep", "congestion.fixed=1,4"), stderr=subprocess.DEVNULL,
                                           env={"PATH": os.environ["PATH"], "TERM": "xterm", "LC_ALL": "C.UTF-8"})
        self.assertEqual(status, 0)
        self.assertIn("Bandwidth:", shown)

    def test_progress_of_many_runs(self):
        session = Session((IEZ, "sim", "run", "four-jobs", "--seeds", "1000", "--json"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(session.close)
        try:
            shown = session.until(" of 1000 runs done")
        finally:
            session.process.kill()
            stdout = session.process.stdout.read()
            session.process.stdout.close()
            session.process.wait()
        self.assertRegex(shown, r"\A\r\x1b\[Ksimulating: \d+ %, ")
        self.assertEqual(stdout, b"", "progress is not mixed into the output")

    def test_rows_on_a_terminal_have_no_progress_between_them(self):
        # Progress begins after a second, and would be told five times in each.
        session = Session((IEZ, "sim", "run", "four-jobs", "--seeds", "1000", "--csv", "-"), stdin=subprocess.DEVNULL)
        self.addCleanup(session.close)
        try:
            began, shown = time.monotonic(), ""
            while time.monotonic() < began + 3:
                shown += session.until("\n")
        finally:
            session.process.kill()
            session.process.wait()
        rows = shown.split("\r\n")
        self.assertGreater(len(rows), 2)
        self.assertNotIn("\x1b", shown)
        self.assertNotIn("simulating", shown)

    def test_standard_input(self):
        piped = self.document("run", "-", input=SMALL)
        named = self.document("run", self.small())
        self.assertEqual(piped["scenario"].pop("file"), "standard input")
        named["scenario"].pop("file")
        self.assertEqual(piped, named)

    def test_files_that_files_name(self):
        self.file("machines/mine.toml", 'extends = "iez-testbed"\nname = "mine"\n')
        self.file("base.toml", SMALL.replace('"iez-testbed"', '"machines/mine.toml"'))
        over = self.file("over.toml", 'extends = "base.toml"\nname = "over"\n[congestion]\nfixed = 2\n')
        document = self.document("run", over)
        self.assertEqual((document["scenario"]["name"], document["scenario"]["machine"]["name"]), ("over", "mine"))
        shipped = self.file("shipped.toml", 'extends = "demo.toml"\nname = "mine"\n')  # not beside it, but shipped
        self.assertEqual(self.document("run", shipped)["runs"], self.document("run", "demo")["runs"])

    def test_a_job_out_of_a_trace(self):
        trace = self.file("run.csv", "file_name,write_bytes,stripe_count,mpi_rank,communicator_size\n"
                          + "".join(f"/scratch/out.{rank},{20 * MIB},2,{rank},4\n" for rank in range(4)))
        path = self.file("traced.toml", f'machine = "iez-testbed"\n[[job]]\nkind = "trace"\ntrace = "{trace.name}"\n')
        [one] = self.document("run", path)["runs"]
        self.assertEqual(one["bytes"], 80 * MIB)
        self.assertEqual([(job["replayed_files"], job["read_bytes"]) for job in one["jobs"]], [(4, 0)])
        [wide] = self.document("run", path, "--set", "job.0.stripe_count=all")["runs"]
        self.assertEqual(wide["bytes"], 80 * MIB)
        self.assertGreater(wide["targets"]["positionings"], one["targets"]["positionings"])
        self.assert_refused(1, ["job.0.block", "the files of the trace tell it"], "run", path, "--set", "job.0.block=1MiB")
        self.assert_refused(1, ["/scratch/out.3", "rank 3", "3 processes"], "run", path, "--set", "job.0.processes=3")
        trace.write_text(trace.read_text(encoding="utf-8").replace(",2,1,4", ",16,1,4"), encoding="utf-8")
        self.assert_refused(1, ["/scratch/out.1", "16 stripes", "15 targets", "stripe_count"], "run", path)
        trace.write_text("file_name,write_bytes,stripe_count,mpi_rank,communicator_size\n", encoding="utf-8")
        self.assert_refused(1, ["traced.toml:4", "run.csv", "no file with data"], "run", path)

    def test_a_recorded_run_moves_what_it_moved(self):
        # What the Darshan logs hold, by the program that only counts.
        for name, files in {"app_readAB_writeC-3.21": 3, "ior_hdf5_example-3.21": 1, "macsio-3.21": 3,
                            "noposixopens-3.10": 3}.items():
            with self.subTest(name):
                log = ROOT / "tests/fixtures/darshan" / f"{name}.txt"
                shown = subprocess.run([IEZ, "trace", "export", log], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                       text=True, timeout=120).stdout
                rows = [row for row in csv.DictReader(shown.splitlines()) if int(row["write_bytes"]) + int(row["read_bytes"] or 0) > 0]
                written, read = (sum(int(row[key] or 0) for row in rows) for key in ("write_bytes", "read_bytes"))
                path = self.file("recorded.toml", f'machine = "iez-testbed"\ninterval = "10s"\n[[job]]\nkind = "trace"\ntrace = "{log}"\n')
                [one] = self.document("run", path)["runs"]
                [job] = one["jobs"]
                self.assertEqual(job["replayed_files"], len(rows))
                self.assertEqual(len(rows), files)
                self.assertEqual((job["bytes"], job["read_bytes"]), (written + read, read))
                self.assertEqual(one["targets"]["bytes"], written + read)
                run_start = json.loads(subprocess.run([IEZ, "trace", "show", log, "--json"], check=True, stdout=subprocess.PIPE,
                                                      stderr=subprocess.DEVNULL, timeout=120).stdout)["start_ns"]
                self.assertGreater(one["time_s"], max(int(row["first_ns"]) - run_start for row in rows) / 1e9)
                self.assertEqual(self.text("run", path), self.text("run", path))

    def test_one_large_file_is_not_eight_of_the_mean(self):
        header = "file_name,write_bytes,stripe_count,mpi_rank,communicator_size\n"
        ends = []
        for sizes in ([8] * 8, [1] * 7 + [57]):
            self.file("run.csv", header + "".join(f"/scratch/out.{rank},{mib * MIB},1,{rank},8\n" for rank, mib in enumerate(sizes)))
            path = self.file("traced.toml", 'machine = "iez-testbed"\n[[job]]\nkind = "trace"\ntrace = "run.csv"\n')
            [one] = self.document("run", path)["runs"]
            self.assertEqual(one["bytes"], 64 * MIB)
            ends.append(one["time_s"])
        self.assertGreater(ends[1], 3 * ends[0])
        self.assertGreater(ends[1], 57 * MIB / 120e6)  # what its one target takes

    def test_recorded_times_are_kept(self):
        self.file("run.csv", "file_name,write_bytes,stripe_count,mpi_rank,communicator_size,first_ns\n"
                  + "".join(f"/scratch/step.{step},{MIB},1,0,1,{(1000 + 7 * step) * 10**9}\n" for step in range(3)))
        path = self.file("traced.toml", 'machine = "iez-testbed"\n[[job]]\nkind = "trace"\ntrace = "run.csv"\n')
        [one] = self.document("run", path, "--samples")["runs"]
        self.assertTrue(14 < one["time_s"] < 15)
        self.assertEqual([int(sample["time_s"]) for sample in one["samples"] if sample["bytes"] > 0], [1, 8, 14])

    def test_more_load_is_not_faster_than_the_disks(self):
        document = self.document("run", self.small(), "--sweep", "job.0.processes=1..64*4")
        for each in document["runs"]:
            self.assertLess(each["bandwidth"], 15 * 120e6)
        rates = [each["bandwidth"] for each in document["runs"]]
        self.assertGreater(rates[-1], rates[0])

    def test_time_outs_are_told(self):
        text = self.text("run", self.small(), "--set", "timeout=40ms", "--set", "congestion.fixed=32", "--set", "job.0.processes=64",
                         "--set", "job.*.stripe_count=1", "--set", "until=20s")
        self.assertIn("note: ", text)
        self.assertIn("clients that had given up", text)


class Compare(Case):
    def test_two_scenarios(self):
        other = self.file("other.toml", 'extends = "small.toml"\nname = "other"\n[congestion]\nfixed = 1\n')
        small = self.small()
        document = self.document("compare", small, other)
        self.assertEqual((document["a"]["name"], document["b"]["name"]), ("small", "other"))
        a, b = (self.document("run", path)["runs"][0] for path in (small, other))
        [figure] = [one for one in document["figures"] if one["figure"] == "bandwidth"]
        self.assertEqual((figure["a"], figure["b"]), ({"mean": a["bandwidth"], "band": None}, {"mean": b["bandwidth"], "band": None}))
        self.assertAlmostEqual(figure["change"], b["bandwidth"] / a["bandwidth"] - 1, places=9)
        lines = self.text("compare", small, other, "--seeds", "3").splitlines()
        self.assertEqual(lines[:2], ["A: small", "B: other"])
        self.assertIn("+-", lines[-1])
        path = self.folder / "page.html"
        self.text("compare", small, other, "--html", path)
        self.assertEqual(self.assert_page(path.read_text(encoding="utf-8")).seen.count("svg"), 7)
        self.assertEqual(*(self.text("compare", small, other, "--seeds", "3", "--jobs", threads) for threads in "12"))

    def test_with_itself(self):
        for row in self.text("compare", self.small(), self.small(), "--no-header").splitlines():
            self.assertTrue(row.endswith("+0.0 %"), row)

    def test_jobs_of_both(self):
        two = self.file("two.toml", TWO_JOBS)
        document = self.document("compare", two, two, "--set", "congestion.fixed=2")
        self.assertEqual({one["job"] for one in document["figures"]}, {None, "ckpt", "late"})

    def test_refused(self):
        small = self.small()
        self.assert_refused(1, ["nosuch"], "compare", small, "nosuch")
        self.assert_refused(2, ["twice"], "compare", "-", "-")
        self.assert_refused(2, ["--seeds"], "compare", small, small, "--seeds", "0")


class Shipped(Case):
    def test_list_and_show(self):
        document = self.document("list")
        for kind in ("scenarios", "machines"):
            names = [one["name"] for one in document[kind]]
            self.assertEqual(sorted(names), sorted(path.stem for path in (ROOT / f"examples/{kind}").glob("*.toml")))
            for one in document[kind]:
                self.assertTrue(one["summary"])
                self.assertIn(one["name"], self.text("list"))
                self.assertEqual(self.text("show", one["name"]), (ROOT / f"examples/{kind}/{one['name']}.toml").read_text(encoding="utf-8"))
        self.assert_refused(1, ["'dem'", "did you mean 'demo'?"], "show", "dem")

    def test_a_shipped_scenario_is_the_file(self):
        self.assertEqual(self.document("run", "demo")["runs"], self.document("run", ROOT / "examples/scenarios/demo.toml")["runs"])

    def test_files_around_do_not_change_what_is_shipped(self):
        self.file("four-jobs.toml", "broken")
        self.file("fix-8-1024.toml", "broken")
        fewer = ("--set", "job.*.processes=2", "--set", "job.*.block=1MiB")
        self.text("run", "cc-60-1024", *fewer, cwd=self.folder)


class Refused(Case):
    def test_keys_and_values(self):
        small = self.small()
        for change, status, fragments in (
            ("congestion.fixd=3", 1, ["fixd", "did you mean 'fixed'?"]),
            ("target.write_rate=0", 1, ["write_rate", "found 0"]),
            ("job.0.stripe_count=16", 1, ["stripe_count", "16", "15"]),
            ("job.0.start=-1s", 1, ["start", "-1s"]),
            ("interval=0s", 1, ["interval"]),
            ("until=-5s", 1, ["until"]),
            ("machine=nosuch", 1, ["machine", "nosuch"]),
            ("job.7.processes=1", 2, ["7"]),
            ("congestion.fixed", 2, ["congestion.fixed", "key=value"]),
        ):
            with self.subTest(change=change):
                self.assert_refused(status, fragments, "run", small, "--set", change, "--html", self.folder / "x.html", "--csv", self.folder / "x.csv")

    def test_files_with_line_numbers(self):
        for text, fragments in (
            (SMALL.replace("processes", "proceses"), [":7", "proceses", "did you mean 'processes'?"]),
            (SMALL.replace('"8MiB"', '"8 apples"'), [":8", "block", "8 apples"]),
            (SMALL.replace("stripe_count = 2", "stripe_count = 99"), [":10", "99"]),
            ("name = \n", [":1"]),
            ("", ["machine"]),
            (b"\x7fELF\x00\x01", ["bad.toml"]),
        ):
            with self.subTest(fragments=fragments):
                path = self.file("bad.toml", text)
                self.assert_refused(1, [path, *fragments], "run", path, "--json")

    def test_cycles(self):
        one = self.file("one.toml", 'extends = "two.toml"\n')
        self.file("two.toml", 'extends = "one.toml"\n')
        self.assert_refused(1, ["cycle", "one.toml", "two.toml"], "run", one)

    def test_missing_files(self):
        self.assert_refused(1, ["nosuch.toml", "No such file"], "run", self.folder / "nosuch.toml")
        self.assert_refused(1, ["'fix-8-1025'", "did you mean 'fix-8-1024'?"], "run", "fix-8-1025")
        lone = self.file("lone.toml", 'extends = "nosuch.toml"\n')
        self.assert_refused(1, ["lone.toml:1", "nosuch.toml", "none is shipped"], "run", lone)
        self.assert_refused(1, ["Is a directory"], "run", f"{self.folder}/")

    def test_sweeps_that_explode(self):
        small = self.small()
        self.assert_refused(1, ["at most 10000"], "run", small, "--sweep", "seed=1..100000")
        self.assert_refused(1, ["at most 10000"], "run", small, "--sweep", "seed=1..200", "--sweep", "congestion.fixed=1..200")
        self.assert_refused(1, ["at most 10000"], "run", small, "--sweep", "seed=1..200", "--seeds", "51")
        self.assert_refused(1, ["at most 10000"], "run", small, "--seeds", "18446744073709551615")
        self.assert_refused(2, ["twice"], "run", small, "--sweep", "seed=1", "--sweep", "seed=2")
        self.assert_refused(2, ["empty value"], "run", small, "--sweep", "seed=1,,2")

    def test_one_bad_value_of_a_sweep_ends_all(self):
        self.assert_refused(1, ["stripe_count", "16"], "run", self.small(), "--sweep", "job.0.stripe_count=1,16", "--csv", self.folder / "x.csv")

    def test_options(self):
        small = self.small()
        for extra, fragment in ((("--jobs", "0"), "--jobs"), (("--jobs", "-1"), "whole number"), (("--jobs", "5000"), "1 to 1024"), (("--seeds", "0"), "--seeds"),
                                (("--samples",), "--json"), (("--json", "--csv", "-"), "standard output"), (("--html", "-", "--csv", "-"), "standard output"),
                                (("--plot", "--no-plot"), "cannot be given together"), (("--html", "x", "--csv", "x"), "two files")):
            with self.subTest(extra=extra):
                self.assert_refused(2, [fragment], "run", small, *extra)

    def test_outputs_that_cannot_be_written(self):
        small = self.small()
        for option in ("--csv", "--html"):
            self.assert_refused(1, ["No such file"], "run", small, option, self.folder / "nowhere/x")
            self.assert_refused(1, ["No space left"], "run", small, option, "/dev/full")
            self.assert_refused(1, ["directory"], "run", small, option, self.folder)
        self.assert_refused(1, ["No such file"], "run", small, "--csv", self.folder / "x.csv", "--html", self.folder / "nowhere/x")
        self.assert_refused(1, ["No such file"], "compare", small, small, "--html", self.folder / "nowhere/x")
        with open("/dev/full", "w", encoding="utf-8") as full:
            self.assert_refused(1, ["standard output: No space left on device"], "run", small, stdout=full)

    def test_help(self):
        for command in ("run", "compare", "list", "show"):
            self.assertIn(f"Usage: iez sim {command} ", self.text(command, "--help"))


if __name__ == "__main__":
    unittest.main()
