#!/usr/bin/env python3
"""`iez forecast`: series with a known law, and the files of a next run that is known; every number finite, every refusal in words."""

import csv
import io
import json
import math
import os
import pathlib
import random
import subprocess
import unittest

from folder_case import FolderCase
from terminal import output_on_terminal

ROOT = pathlib.Path(os.environ.get("IEZ_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
IEZ = os.environ.get("IEZ", str(ROOT / "build/dev/apps/iez/iez"))
GOLDEN = ROOT / "tests/golden/forecast"
TRACES = GOLDEN / "traces"
GOODOST = pathlib.Path(os.environ.get("IEZ_TEST_DATA", ROOT / "tests/fixtures")) / "darshan/sample-goodost-3.10.txt"
LARGE = ROOT / "examples/clusters/lscratchc.toml"
MIB = 1 << 20


def run(*arguments, **options):
    return subprocess.run([IEZ, *map(str, arguments)], check=False, timeout=60, env={**os.environ, "LC_ALL": "C"},
                          **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True,
                             **({} if "input" in options else {"stdin": subprocess.DEVNULL}), **options})


def numbers(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for item in value for number in numbers(item)]
    return [value] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


class Case(FolderCase):
    def text(self, *arguments, **options):
        """What a command prints that succeeds silently."""
        result = run("forecast", *arguments, **options)
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
        result = run("forecast", *arguments, **options)
        self.assertEqual((result.returncode, result.stdout or ""), (status, ""), result.stderr)
        self.assertLessEqual(len(result.stderr.splitlines()), 2, result.stderr)
        for fragment in fragments:
            self.assertIn(str(fragment), result.stderr)


class Series(Case):
    def values(self, values, name="values.csv"):
        return self.file(name, "".join(f"{value}\n" for value in values))

    def test_the_period_of_checkpoints_is_found(self):
        document = self.document("series", TRACES / "ckpt_mix.csv", "--test", 12)
        self.assertEqual((document["values"], document["season"]["period"], len(document["forecast"])), (96, 8, 8))
        self.assertGreater(document["season"]["strength"], 0.9)
        means = [row["mean"] for row in document["forecast"]]
        self.assertEqual(means.index(max(means)), 7)  # the large one comes last, as it always did
        self.assertGreater(min(means[7] / mean for mean in means[:7]), 20)
        self.assertGreater(document["test"]["accuracy"], 98)

    def test_the_same_files_by_rank_and_by_creation(self):
        by_rank, racing = (self.document("series", TRACES / f"files_{order}_order.csv", "--test", 12)["test"] for order in ("rank", "race"))
        self.assertGreater(by_rank["accuracy"], 99.5)
        self.assertLess(racing["accuracy"], 60)

    def test_easy_laws(self):
        for name, values, following in (
            ("constant", [7e9] * 30, [7e9, 7e9]),
            ("line", [100 + 3 * i for i in range(30)], [190, 193]),
            ("three phases", [10, 20, 60] * 10, [10, 20]),
            ("growing phases", [10 + i if i % 2 else 500 + 2 * i for i in range(40)], [580, 51]),
        ):
            with self.subTest(name=name):
                means = [row["mean"] for row in self.document("series", self.values(values), "-n", 2)["forecast"]]
                for mean, expected in zip(means, following):
                    self.assertAlmostEqual(mean, expected, delta=expected * 1e-6)

    def test_the_accuracy_is_that_of_what_was_said(self):
        table = io.StringIO((TRACES / "hacc.csv").read_text(encoding="utf-8"))
        actual = [float(row["value"]) for row in csv.DictReader(table)][-12:]
        test = self.document("series", TRACES / "hacc.csv", "--test", 12)["test"]
        self.assertEqual((test["values"], len(test["said"])), (12, 12))
        errors = [abs(said - value) for said, value in zip(test["said"], actual)]
        self.assertAlmostEqual(test["accuracy"], 100 * (1 - sum(error / value for error, value in zip(errors, actual)) / 12), places=9)
        self.assertAlmostEqual(test["wape_accuracy"], 100 * (1 - sum(errors) / sum(actual)), places=9)

    def test_a_given_order(self):
        # Box and Jenkins's airline model; the likelihood is that of R and statsmodels, of values divided by their mean.
        path = GOLDEN / "series_AirPassengers_log.csv"
        document = self.document("series", path, "--order", "0,1,1,0,1,1,12")
        model = document["model"]
        self.assertEqual((model["order"], model["seasonal_order"], model["period"], model["converged"]), ([0, 1, 1], [0, 1, 1], 12, True))
        self.assertAlmostEqual(model["ma"][0], -0.401828, delta=2e-3)
        self.assertAlmostEqual(model["seasonal_ma"][0], -0.556945, delta=2e-3)
        self.assertAlmostEqual(model["log_likelihood"] - 131 * math.log(document["scale"]), 244.696487, delta=1e-3)
        document = self.document("series", GOLDEN / "series_Nile.csv", "--order", "0,1,1", "-n", 1)
        self.assertAlmostEqual(document["model"]["ma"][0], -0.732942, delta=2e-3)

    def test_the_grid(self):
        document = self.document("series", TRACES / "short8_hacc.csv", "--grid", "-n", 2)
        self.assertTrue(document["method"].startswith("ARIMA(") or document["note"], document["method"])
        self.assertEqual(len(document["forecast"]), 2)

    def test_quantiles(self):
        spans = []
        for quantile in (0.6, 0.9, 0.99):
            (row,) = self.document("series", TRACES / "hacc.csv", "-n", 1, "-q", quantile)["forecast"]
            self.assertLess(row["low"], row["mean"])
            self.assertLess(row["mean"], row["high"])
            spans.append((row["high"] - row["mean"]) / row["spread"])
        for span, expected in zip(spans, (0.2533, 1.2816, 2.3263)):  # of a normal law
            self.assertAlmostEqual(span, expected, places=3)
        self.assertIn("1 %", self.text("series", TRACES / "hacc.csv", "-n", 1, "-q", "0.99"))

    def test_columns_and_missing_values(self):
        path = self.file("table.csv", "time,bytes\n" + "".join(f"{i},{'NA' if i == 5 else 100 * i}\n" for i in range(1, 25)))
        document = self.document("series", path, "--column", "bytes", "-n", 1)
        self.assertEqual((document["column"], document["values"], document["missing"], document["forecast"][0]["index"]), ("bytes", 23, 1, 25))
        self.assertAlmostEqual(document["forecast"][0]["mean"], 2500, delta=1)
        self.assertEqual(self.document("series", path, "-n", 1)["column"], "time")
        self.assert_refused(1, [path, "nosuch"], "series", path, "--column", "nosuch")
        piped = self.document("series", "-", "--column", "bytes", "-n", 1, input=path.read_text(encoding="utf-8"))
        self.assertEqual({**piped, "file": ""}, {**document, "file": ""})

    def test_a_given_period(self):
        path = self.values([10, 20, 60] * 10)
        self.assertEqual(self.document("series", path, "--period", 3)["season"]["period"], 3)
        without = self.document("series", path, "--period", 0)
        self.assertEqual(len(without["forecast"]), 12)
        self.assertNotIn("by phase", without["method"])

    def test_never_below_zero_nor_beyond_all_numbers(self):
        seed = random.SystemRandom().randrange(1 << 30)
        source = random.Random(seed)
        laws = {
            "falling": [1000 - 60 * i for i in range(16)],
            "mostly zero": [source.choice((0, 0, 0, 1e9)) for _ in range(40)],
            "noise": [source.random() for _ in range(30)],
            "wide": [10 ** source.uniform(0, 15) for _ in range(30)],
            "huge": [source.choice((1e300, 1e290, 0)) for _ in range(25)],
            "tiny": [source.choice((1e-300, 2e-310, 0)) for _ in range(25)],
            "a break": [5] * 20 + [5e12] * 3,
            "exponential": [2.0**i for i in range(60)],
            "two": [0, 1e18],
        }
        for name, values in laws.items():
            with self.subTest(law=name, seed=seed):
                path = self.values(values)
                document = self.document("series", path, "-n", 40)
                for row in document["forecast"]:
                    self.assertTrue(0 <= row["low"] <= row["mean"] <= row["high"], row)
                self.assertLess(max(row["mean"] for row in document["forecast"]), 100 * max(values) + 1e-290)
                for word in self.text("series", path, "-n", 3, "--no-header").split():
                    self.assertTrue(math.isfinite(float(word)) and float(word) >= 0, word)

    def test_all_zero_and_single_values(self):
        for values in ([0], [0] * 50, [3], [3] * 50):
            for row in self.document("series", self.values(values), "-n", 3)["forecast"]:
                self.assertEqual((row["low"], row["mean"], row["high"], row["spread"]), (values[0], values[0], values[0], 0))

    def test_negative_values(self):
        path = self.values([-100 - i for i in range(30)])
        self.assertAlmostEqual(self.document("series", path, "--negative", "-n", 1)["forecast"][0]["mean"], -130, delta=1e-6)
        for row in self.document("series", path, "-n", 2)["forecast"]:
            self.assertEqual((row["low"], row["mean"]), (0, 0))

    def test_bad_inputs(self):
        for name, text, fragments in (
            ("empty", "", ["found no value"]), ("title only", "value\n", ["found no value"]), ("text", "1\n2\nthree\n", ["text:3", "'three'", "finite number"]),
            ("infinite", "1\ninf\n", ["infinite:2", "'inf'"]), ("huge", "1\n1e400\n", ["huge:2", "'1e400'"]), ("ragged", "1,2\n3\n", ["ragged:2", "expected 2"]),
            ("words", "a\nb\nc\n", ["words:2", "'b'"]), ("binary", b"\x7fELF\x00\x01\n\x02\x03\n", ["binary:"]), ("missing only", "nan\nNA\n", ["missing only", "no value"]),
        ):
            with self.subTest(name=name):
                path = self.file(name, text)
                for extra in ((), ("--json",), ("--grid",), ("--order", "1,0,0"), ("--plot",)):
                    self.assert_refused(1, [path, *fragments], "series", path, *extra)
        self.assert_refused(1, ["nowhere: No such file"], "series", self.folder / "nowhere")
        self.assert_refused(1, ["Is a directory"], "series", self.folder)

    def test_bad_options(self):
        path = self.values(range(1, 14))
        for extra, fragment in ((("--order", "1,1"), "expected 3"), (("--order", "1,x,1"), "'1,x,1'"), (("--order", "25,0,0"), "up to 24"),
                                (("--order", "1,0,0,1,0,0,1"), "period of 1"), (("-q", "0.5"), "more than 0.5"), (("-q", "1"), "less than 1"), (("-q", "nan"), "nan"),
                                (("-n", "0"), "1 to 100000"), (("-n", "100001"), "1 to 100000"), (("--test", "0"), "1 to 12"), (("--test", "13"), "1 to 12"),
                                (("--order", "1,0,0", "--grid"), "cannot be given together"), (("--plot", "--no-plot"), "cannot be given together"), (("--period", "-1"), "whole number"),
                                (("--period", "4000000000", "-n", "1"), "--period")):
            with self.subTest(extra=extra):
                self.assert_refused(2, [fragment], "series", path, *extra)

    def test_an_order_that_cannot_be_fitted(self):
        document = self.document("series", self.values([1, 5, 2]), "--order", "5,2,5", "-n", 1)
        self.assertEqual(document["model"], None)
        self.assertIn("ARIMA(5,2,5) cannot be fitted", document["note"])

    def test_plots(self):
        path = TRACES / "ckpt_mix.csv"
        drawn = self.text("series", path, "--plot")
        self.assertIn("o history   + forecast", drawn)
        self.assertNotIn("history", self.text("series", path))
        self.assertTrue(drawn.isascii())
        for extra, expected in (((), True), (("--no-plot",), False)):
            shown, status = output_on_terminal((IEZ, "forecast", "series", str(path), *extra), stderr=subprocess.DEVNULL,
                                               env={"PATH": os.environ["PATH"], "TERM": "xterm", "LC_ALL": "C.UTF-8"})
            self.assertEqual((status, "history" in shown), (0, expected))

    def test_rows_only(self):
        rows = self.text("series", TRACES / "hacc.csv", "-n", 3, "--no-header").splitlines()
        self.assertEqual([row.split()[0] for row in rows], ["73", "74", "75"])

    def test_help(self):
        for command in ("series", "run"):
            text = self.text(command, "--help")
            self.assertIn(f"Usage: iez forecast {command} ", text)
            self.assertIn("--quantile", text)

    def test_a_full_device(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            self.assert_refused(1, ["standard output: No space left on device"], "series", TRACES / "hacc.csv", stdout=full)


class Run(Case):
    def trace(self, name, files, ranks):
        """files: (name, bytes[, rank[, writers[, stripes[, renamed from]]]]), in order of creation."""
        lines = ["file_name,renamed_to,write_bytes,stripe_count,mpi_rank,communicator_size,ranks,first_ns"]
        for i, row in enumerate(files):
            final, size, rank, writers, stripes, before = (*row, *(0, 1, 4, "")[len(row) - 2:])
            lines.append(f"{before or final},{final if before else ''},{size},{stripes},{rank},{ranks},{writers},{10**18 + i}")
        return self.file(name, "\n".join(lines) + "\n")

    def hacc(self, run_number, ranks=8):
        return self.trace(f"hacc{run_number}-{ranks}.csv", [(f"/scratch/hacc/Part{rank:08}-of-{ranks:08}", 380_000_000 + 1_000_000 * rank + 10_000 * run_number, rank)
                                                            for rank in range(ranks)], ranks)

    @staticmethod
    def checkpoint_size(run_number, step, rank):
        return (100 + 40 * rank + 300 * step + 5 * run_number) * MIB

    def checkpoints(self, run_number, ranks=4, steps=3):
        """Within a step, ranks come in any order."""
        source = random.Random(run_number)
        files = []
        for step in range(steps):
            for rank in source.sample(range(ranks), ranks):
                name = f"/scratch/sim/run{run_number:02}/ckpt.{100 * (step + 1):06}.{rank}"
                files.append((name, self.checkpoint_size(run_number, step, rank), rank, 1, 4, name + ".tmp"))
        files.append((f"/scratch/sim/run{run_number:02}/fields.h5", 6000 * MIB, 0, ranks, 8))
        return self.trace(f"sim{run_number}.csv", files, ranks)

    def rows(self, *arguments):
        return {row["name"]: row for row in self.document("run", *arguments)["rows"]}

    def test_hacc(self):
        rows = self.rows(*(self.hacc(number) for number in range(3)))
        self.assertEqual(sorted(rows), [f"/scratch/hacc/Part{rank:08}-of-00000008" for rank in range(8)])
        for rank, row in enumerate(rows[name] for name in sorted(rows)):
            self.assertEqual((row["rank"], row["stripe_count"], row["shared"], row["open"]), (rank, 4, False, False))
            self.assertAlmostEqual(row["bytes"], 380_000_000 + 1_000_000 * rank, delta=100_000)
            self.assertGreaterEqual(row["high"], row["bytes"])

    def test_racing_ranks_and_steps(self):
        document = self.document("run", *(self.checkpoints(number) for number in (1, 2, 3)))
        rows = {row["name"]: row for row in document["rows"]}
        expected = {f"/scratch/sim/run04/ckpt.{100 * (step + 1):06}.{rank}": (step, rank) for step in range(3) for rank in range(4)}
        self.assertEqual(set(rows), {*expected, "/scratch/sim/run04/fields.h5"})
        for name, (step, rank) in expected.items():
            size = self.checkpoint_size(4, step, rank)
            self.assertAlmostEqual(rows[name]["bytes"], size, delta=size / 100)
            self.assertEqual((rows[name]["rank"], rows[name]["step"], rows[name]["stripe_count"]), (rank, step, 4))
        self.assertEqual((rows["/scratch/sim/run04/fields.h5"]["shared"], rows["/scratch/sim/run04/fields.h5"]["stripe_count"]), (True, 8))
        patterns = {template["pattern"]: template["files"] for template in document["templates"]}
        self.assertEqual(patterns["/scratch/sim/run{run:2}/ckpt.{step:6}.{rank}"], 12)
        self.assertEqual([(rule["temporary"].endswith(".{rank}.tmp"), rule["pairs"]) for rule in document["renames"]], [(True, 36)])
        self.assertEqual((document["runs"], document["ranks"], document["files"]), (3, 4, 13))
        self.assertEqual(document["bytes"], sum(row["bytes"] for row in rows.values()))
        self.assertEqual(document["high"], sum(row["high"] for row in rows.values()))

    def test_the_order_of_creation_does_not_matter(self):
        paths = [self.checkpoints(number) for number in (1, 2, 3)]
        expected = self.document("run", *paths)["rows"]
        for path in paths:
            head, *lines = path.read_text(encoding="utf-8").splitlines()
            steps = sorted(lines, key=lambda line: (line.split(".")[1] if "ckpt" in line else "z", line))  # ranks in order
            stamped = [f"{line.rsplit(',', 1)[0]},{10**18 + i}" for i, line in enumerate(steps)]
            path.write_text("\n".join([head, *stamped]) + "\n", encoding="utf-8")
        self.assertEqual(self.document("run", *paths)["rows"], expected)

    def test_steps_that_go_on(self):
        paths = [self.trace(f"{number}.csv", [(f"/scratch/out.{10 * step:05}", (100 + step) * MIB) for step in range(4 * number, 4 * number + 4)], 1)
                 for number in range(5)]
        rows = self.rows(*paths)
        self.assertEqual(sorted(rows), [f"/scratch/out.{10 * step:05}" for step in range(20, 24)])
        for step in range(20, 24):  # so does the series of their sizes
            self.assertAlmostEqual(rows[f"/scratch/out.{10 * step:05}"]["bytes"], (100 + step) * MIB, delta=MIB / 10)

    def test_more_ranks(self):
        for ranks in (4, 16):
            with self.subTest(ranks=ranks):
                rows = self.rows(self.hacc(1), self.hacc(2), "--ranks", ranks)
                self.assertEqual(sorted(rows), [f"/scratch/hacc/Part{rank:08}-of-{ranks:08}" for rank in range(ranks)])
                for row in rows.values():
                    self.assertTrue(380_000_000 <= row["bytes"] <= 387_100_000, row)
        document = self.document("run", self.hacc(1), self.hacc(2), "--ranks", 16)
        self.assertIn("no run had 16 ranks", " ".join(document["notes"]))

    def test_how_sizes_go_with_ranks_is_learnt(self):
        paths = []
        for number, ranks in enumerate((2, 4, 8)):
            files = [(f"/scratch/strong.{rank}", 6400 * MIB // ranks, rank) for rank in range(ranks)]
            paths.append(self.trace(f"{number}.csv", [*files, ("/scratch/shared", 100 * MIB * ranks, 0, ranks), ("/scratch/fixed", 900 * MIB, 0, ranks)], ranks))
        document = self.document("run", *paths, "--ranks", 16)
        rows = {row["name"]: row["bytes"] for row in document["rows"]}
        self.assertEqual(len(rows), 18)
        for name, size in (("strong.9", 400 * MIB), ("shared", 1600 * MIB), ("fixed", 900 * MIB)):
            self.assertAlmostEqual(rows[f"/scratch/{name}"], size, delta=size / 50, msg=name)
        self.assertTrue(all(template["rank_exponent_fitted"] for template in document["templates"]))

    def test_a_larger_problem(self):
        paths = [self.hacc(1), self.hacc(2)]
        once, twice = self.rows(*paths), self.rows(*paths, "--scale", 2)
        for name, row in once.items():
            self.assertAlmostEqual(twice[name]["bytes"], 2 * row["bytes"], delta=4)

    def test_below_a_folder(self):
        path = self.trace("x.csv", [("/scratch/a/one", 10), ("/scratch/ab/two", 10), ("/home/three", 10)], 1)
        for folder in ("/scratch/a", "/scratch/a/"):
            self.assertEqual(list(self.rows(path, "--under", folder)), ["/scratch/a/one"])
        self.assertEqual(len(self.rows(path, "--under", "/")), 3)
        self.assert_refused(1, ["below /lustre", "found no file that was written"], "run", path, "--under", "/lustre")

    def test_scores(self):
        paths = [self.checkpoints(number) for number in (1, 2, 3, 4)]
        document = self.document("run", *paths[:3], "--score", paths[3])
        rows = {row["name"]: row for row in document["rows"]}
        actual = {}
        for row in csv.DictReader(io.StringIO(paths[3].read_text(encoding="utf-8"))):
            actual[row["renamed_to"] or row["file_name"]] = int(row["write_bytes"])
        errors = {name: abs(rows[name]["bytes"] - size) for name, size in actual.items()}
        score = document["score"]
        self.assertEqual((score["predicted"], score["written"], score["met"]), (13, 13, 13))
        self.assertEqual(score["within_high"], sum(size <= rows[name]["high"] for name, size in actual.items()))
        self.assertEqual((score["stripe_counts_right"], score["stripe_counts_known"], score["modes_right"]), (13, 13, 13))
        self.assertAlmostEqual(score["accuracy"], 100 * (1 - sum(errors[name] / size for name, size in actual.items()) / 13), places=6)
        self.assertAlmostEqual(score["wape_accuracy"], 100 * (1 - sum(errors.values()) / sum(actual.values())), places=6)
        self.assertGreater(score["accuracy"], 99)
        # The last run, foretold by the two before it, is the same as asking for it.
        self.assertEqual(document["last_run"], self.document("run", *paths[:2], "--score", paths[2])["score"])

    def test_a_run_that_nobody_foretold(self):
        other = self.trace("other.csv", [("/scratch/else", 5)], 1)
        score = self.document("run", self.hacc(1), "--score", other)["score"]
        self.assertEqual((score["met"], score["written"], score["accuracy"]), (0, 1, None))
        self.assertIn("0 of 1 files foretold", self.text("run", self.hacc(1), "--score", other))

    def test_one_run(self):
        document = self.document("run", self.hacc(1))
        self.assertEqual(document["last_run"], None)
        self.assertIn("only one run was seen", " ".join(document["notes"]))
        self.assertEqual(len(document["rows"]), 8)

    def test_requests(self):
        paths = [self.checkpoints(number) for number in (1, 2)]
        document = self.document("run", *paths)
        lines = list(csv.DictReader(io.StringIO(self.text("run", *paths, "--requests", "-"))))
        self.assertEqual([(row["name"], int(row["bytes"]), int(row["stripe_count"])) for row in lines],
                         [(row["name"], row["high"], row["stripe_count"]) for row in document["rows"]])
        written = self.folder / "requests.csv"
        self.assertIn("next run: ", self.text("run", *paths, "--requests", written))
        self.assertEqual(written.read_text(encoding="utf-8"), self.text("run", *paths, "--requests", "-"))
        placed = run("place", "-c", LARGE, "-q", written, "--json")
        self.assertEqual((placed.returncode, placed.stderr), (0, ""))
        self.assertEqual({file["name"] for file in json.loads(placed.stdout)["files"]}, {row["name"] for row in document["rows"]})

    def test_requests_with_strange_names(self):
        path = self.trace("x.csv", [('"/scratch/a, {0..3}"', 10 * MIB)], 1)
        requests = self.file("requests.csv", self.text("run", path, "--requests", "-"))
        placed = run("place", "-c", LARGE, "-q", requests, "--json")
        self.assertEqual([file["name"] for file in json.loads(placed.stdout)["files"]], ["/scratch/a, {0..3}"])

    def test_from_a_log_to_a_plan(self):
        command = '"$0" trace import "$1" | "$0" forecast run - --requests - | "$0" place -c "$2" -q - --json'
        result = subprocess.run(["bash", "-o", "pipefail", "-c", command, IEZ, GOODOST, LARGE], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        plan = json.loads(result.stdout)
        self.assertEqual((plan["file_count"], plan["total_file_bytes"]), (48, 48 << 30))

    def test_text(self):
        paths = [self.checkpoints(number) for number in (1, 2, 3)]
        shown = self.text("run", *paths, "-n", 2)
        self.assertIn("... and 11 more; --limit 0 shows all", shown)
        self.assertIn("/scratch/sim/run{run:2}/ckpt.{step:6}.{rank}", shown)
        self.assertEqual(len(self.text("run", *paths, "--no-header", "-n", 0).splitlines()), 13)
        self.assertEqual(len(self.document("run", *paths, "-n", 3)["rows"]), 3)

    def test_nothing_was_written(self):
        path = self.file("x.csv", "file_name,write_bytes,stripe_count,mpi_rank,communicator_size,read_bytes\n/scratch/input,0,1,0,4,1000\n")
        self.assert_refused(1, ["found no file that was written in 1 trace"], "run", path)
        self.assert_refused(1, ["found no file that was written in 2 traces"], "run", path, path)

    def test_bad_options(self):
        path = self.hacc(1)
        for extra, fragment in ((("--ranks", "0"), "--ranks: found 0"), (("--ranks", "-4"), "whole number"), (("--scale", "0"), "--scale: found 0"),
                                (("--scale", "-1"), "--scale"), (("--scale", "nan"), "--scale"), (("--scale", "1e9"), "--scale"), (("-q", "0.2"), "--quantile: found 0.2"),
                                (("--requests", "-", "--json"), "standard output"), (("--score", "-", "-"), "standard input can be read once"),
                                (("--from", "xml"), "--from")):
            with self.subTest(extra=extra):
                self.assert_refused(2, [fragment], "run", path, *extra)
        self.assert_refused(1, ["nowhere"], "run", path, "--score", self.folder / "nowhere")
        requests = self.folder / "nowhere/requests.csv"
        self.assert_refused(1, [requests], "run", path, "--requests", requests)


if __name__ == "__main__":
    unittest.main()
