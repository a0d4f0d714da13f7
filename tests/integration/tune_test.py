#!/usr/bin/env python3
"""iez tune: the search against a sweep on the source's surface, results of commands, failures, stopping and continuing."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
IEZ = os.environ.get("IEZ", str(ROOT / "build/dev/apps/iez/iez"))

# The surface of the source: 313 MB/s at 2 stripes of 1 MiB, 395 the best at 2 stripes, 4,075 the best at 1 MiB, 15,609 at 160 x 128 MiB;
# what lies between is interpolated as in src/contention/surface_test_support.hpp. Every run is noted in a file.
SURFACE = """\
import math, os, sys
stripes, size = int(sys.argv[1]), int(sys.argv[2])
assert (os.environ["IEZ_STRIPE_COUNT"], os.environ["IEZ_STRIPE_SIZE"]) == (sys.argv[1], sys.argv[2])
with open(sys.argv[3], "a") as log:
    print(stripes, size, file=log)
u = math.log(stripes / 2) / math.log(80)
s = 1 - ((7 - math.log2(size / 2**20)) / 7) ** 2
a, b = math.log(4075 / 313), math.log(395 / 313)
c = math.log(15609 / 313) - a - b
print(f"Max Write: {313e6 * math.exp(a * u + b * s + c * u * s) / 2**20:.9f} MiB/sec")
"""
SMALL = ("--counts", "1..8", "--sizes", "1M..4M")
MIB = 1 << 20


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.log = self.folder / "runs"
        (self.folder / "surface.py").write_text(SURFACE, encoding="utf-8")
        self.surface = (sys.executable, "-S", "surface.py", "{stripe_count}", "{stripe_size}", "runs")

    def run_tune(self, *arguments, environment=None):
        return subprocess.run([IEZ, "tune", *map(str, arguments)], cwd=self.folder, capture_output=True, text=True, check=False, timeout=200,
                              stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})})

    def document(self, *arguments, status=0):
        result = self.run_tune("--json", *arguments)
        self.assertEqual(result.returncode, status, result.stderr)
        return json.loads(result.stdout)

    def runs(self):
        return self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []


class Search(Case):
    def test_finds_what_the_sweep_finds_in_a_fifth_of_its_runs(self):
        space = ("--counts", "1..160", "--sizes", "1M..256M")
        sweep = self.document(*space, "--sweep", "--", *self.surface)
        self.assertEqual(len(self.runs()), 81)
        self.assertEqual((sweep["total_runs"], sweep["sweep_runs"], sweep["finished"], sweep["strategy"]), (81, 81, True, "sweep"))
        self.log.unlink()
        search = self.document(*space, "--", *self.surface)
        for document in (sweep, search):
            best = document["best"]
            self.assertEqual((best["stripe_count"], best["stripe_size"]), (160, 128 * MIB))
            self.assertAlmostEqual(best["value"], 15609e6, delta=1e3)
            self.assertEqual(document["unit"], "bytes_per_second")
            self.assertEqual(document["setstripe"], "lfs setstripe -c 160 -S 128M DIR")
        self.assertLessEqual(search["total_runs"], 81 / 5)
        self.assertEqual(len(self.runs()), search["total_runs"])
        self.assertTrue(search["finished"])

    def test_gain_over_what_is_used_today(self):
        document = self.document("--start", "2x1M", "--", *self.surface)
        self.assertEqual(self.runs()[0], f"2 {MIB}")
        self.assertAlmostEqual(document["gain"], 15609 / 313, places=3)

    def test_text(self):
        result = self.run_tune(*SMALL, "--", *self.surface)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"(?m)^best: 8 stripes of 4\.00 MiB: .* times the first that ran; \d+ runs, a sweep takes 12$")
        self.assertIn("\n  lfs setstripe -c 8 -S 4M DIR\n", result.stdout)
        self.assertRegex(result.stderr, r"\Arun 1: \d+ stripes? of [\d.]+ MiB: [\d.]+ [MG]B/s \(\d+\.\d s\)\n")
        self.assertEqual(len(result.stderr.splitlines()), len(self.runs()))

    def test_budget_and_repeat(self):
        document = self.document(*SMALL, "--budget", 5, "--", *self.surface)
        self.assertEqual((document["total_runs"], document["out_of_budget"], document["finished"]), (5, True, False))
        self.log.unlink()
        document = self.document(*SMALL, "--sweep", "--repeat", 2, "--", *self.surface)
        self.assertEqual((document["total_runs"], document["sweep_runs"]), (24, 24))
        self.assertEqual({trial["runs"] for trial in document["trials"]}, {2})
        self.assertEqual(self.runs()[0::2], self.runs()[1::2])

    def test_shuffled(self):
        orders = []
        for seed in (1, 2, 1):
            self.document(*SMALL, "--sweep", "--shuffle", seed, "--", *self.surface)
            orders.append(self.runs())
            self.log.unlink()
        self.assertEqual(orders[0], orders[2])
        self.assertNotEqual(orders[0], orders[1])
        self.assertEqual(sorted(orders[0]), sorted(orders[1]))

    def test_dry_run(self):
        document = self.document(*SMALL, "--start", "2x1M", "--dry-run", "--dir", "/my dir", "--", "cmd", "{stripe_size_mib}", "-x", "--", "[1,2]")
        self.assertEqual(document, {"counts": [1, 2, 4, 8], "sizes": [MIB, 2 * MIB, 4 * MIB], "sweep_runs": 12,
                                    "first": {"stripe_count": 2, "stripe_size": MIB, "command": ["cmd", "1", "-x", "--", "[1,2]"],
                                              "setstripe": "lfs setstripe -c 2 -S 1M '/my dir'"}})
        text = self.run_tune(*SMALL, "--dry-run", "--", "cmd", "a b").stdout
        self.assertIn("counts: 1 2 4 8\nsizes: 1M 2M 4M\n12 settings, 12 runs for a sweep\n", text)
        self.assertIn("cmd 'a b'\n", text)


class Results(Case):
    def value(self, script, *options):
        return self.document("--counts", 1, "--sizes", "1M", *options, "--", "sh", "-c", script)

    def test_known_output(self):
        for script, value in (("echo 'Max Write: 2.00 MiB/sec (2.10 MB/sec)'", 2 * MIB),
                              ("echo 'write     3.5        4096       1024'; echo 'read     9.5        4096       1024'", 3.5 * MIB),
                              ("echo '1 bytes copied, 0.1 s, 12.5 MB/s' >&2", 12.5e6), ("echo bandwidth: 7", 7e6)):
            with self.subTest(script=script):
                document = self.value(script)
                self.assertEqual((document["best"]["value"], document["unit"]), (value, "bytes_per_second"))

    def test_metric_and_goal(self):
        script = "echo latency=$((100 / IEZ_STRIPE_COUNT)) us; echo 5 MB/s"
        document = self.document(*SMALL, "--metric", "latency=([0-9.]+)", "--goal", "min", "--", "sh", "-c", script)
        self.assertEqual((document["best"]["stripe_count"], document["best"]["stripe_size"]), (8, MIB))
        self.assertAlmostEqual(document["best"]["value"], 12)
        self.assertEqual((document["unit"], document["goal"]), ("plain", "min"))

    def test_time(self):
        document = self.document("--counts", "1,2", "--sizes", "1M", "--sweep", "--time", "--", "sh", "-c", 'sleep "$(expr 2 - $IEZ_STRIPE_COUNT)"')
        self.assertEqual((document["best"]["stripe_count"], document["unit"], document["goal"]), (2, "seconds", "min"))
        self.assertGreater(document["gain"], 1)

    def test_only_the_end_of_a_long_output_is_kept(self):
        document = self.value("echo 'Max Write: 1 MiB/sec'; yes 0123456789 | head -c 3000000; echo; echo 5 MB/s")
        self.assertEqual(document["best"]["value"], 5e6)


class Failures(Case):
    def test_tuning_goes_on(self):
        script = 'test "$IEZ_STRIPE_COUNT" = 8 && { echo out of space >&2; exit 28; }; echo $IEZ_STRIPE_COUNT MB/s'
        result = self.run_tune("--json", "--counts", "1..8", "--sizes", "1M", "--sweep", "--", "sh", "-c", script)
        self.assertEqual(result.returncode, 0, result.stderr)
        document = json.loads(result.stdout)
        self.assertEqual(document["best"]["stripe_count"], 4)
        self.assertEqual([(trial["failed"], trial["value"]) for trial in document["trials"]][-1], (True, None))
        self.assertIn("run 4 of 4: 8 stripes of 1.00 MiB: failed: exit status 28", result.stderr)
        self.assertIn("\n  | out of space\n", result.stderr)

    def test_three_in_a_row_end_it(self):
        result = self.run_tune(*SMALL, "--", "sh", "-c", "echo $IEZ_STRIPE_COUNT >> runs; exit 1")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(len(self.runs()), 3)
        self.assertIn("iez tune: stopped: 3 runs in a row failed; try the command alone: sh -c", result.stderr)

    def test_no_rate(self):
        result = self.run_tune(*SMALL, "--", "echo", "done")
        self.assertEqual(result.returncode, 1)
        self.assertIn("failed: no rate in its output: tell where it is with --metric, or use --time", result.stderr)
        result = self.run_tune(*SMALL, "--metric", "speed=(.*)", "--", "echo", "speed=high")
        self.assertIn("--metric found 'high' in its output", result.stderr)

    def test_timeout_ends_the_whole_group(self):
        began = time.monotonic()
        result = self.run_tune("--counts", 1, "--sizes", "1M", "--timeout", "300ms", "--", "sh", "-c", "sleep 300 & echo $! > child; sleep 300")
        self.assertLess(time.monotonic() - began, 100)
        self.assertEqual(result.returncode, 1)
        self.assertIn("failed: timed out after", result.stderr)
        self.assert_gone(int((self.folder / "child").read_text()))

    def assert_gone(self, pid):
        for _ in range(200):
            try:
                if pathlib.Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
                    return
            except OSError:
                return
            time.sleep(0.05)
        self.fail(f"{pid} is still there")

    def test_interrupt(self):
        script = 'echo $IEZ_STRIPE_COUNT >> runs; test "$(wc -l < runs)" -lt 3 || { echo $$ > child; sleep 300; }; echo 5 MB/s'
        process = subprocess.Popen([IEZ, "tune", "--json", *SMALL, "--sweep", "--", "sh", "-c", script], cwd=self.folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for(self.folder / "child")
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, errors)
        document = json.loads(output)
        self.assertEqual((document["total_runs"], document["interrupted"], document["finished"]), (2, True, False))
        self.assertEqual(len(document["trials"]), 2)
        self.assertIn("interrupted after 2 runs", errors)
        self.assert_gone(int((self.folder / "child").read_text()))

    def test_a_command_that_is_not_there(self):
        result = self.run_tune(*SMALL, "--", "no-such-command")
        self.assertEqual(result.returncode, 1)
        self.assertIn("iez tune: cannot run 'no-such-command': No such file or directory", result.stderr)

    def test_usage(self):
        for options, message in (
            (("--counts", "4..2"), "--counts: found '4..2'"), (("--counts", "0"), "--counts: found '0'"), (("--sizes", "big"), "--sizes: found 'big'"),
            (("--sizes", "1000"), "64 KiB"), (("--budget", "0"), "--budget is 0"), (("--repeat", "0"), "--repeat is 0"),
            (("--start", "3x1M"), "--start"), (("--start", "2"), "--start: found '2'; expected COUNTxSIZE"), (("--metric", "("), "--metric: found '('"),
            (("--metric", "x"), "without a group"), (("--time", "--metric", "(x)"), "--time with --metric"), (("--goal", "min"), "--goal min"),
            (("--time", "--goal", "max"), "--goal max"), (("--shuffle", "1"), "--shuffle is for --sweep"), (("--noise", "2"), "--noise: found '2'"),
            (("--sweep", "--noise", "5%"), "--noise is for the search"), (("--timeout", "0"), "must be more than 0"), (("--goal", "best"), "--goal"),
        ):
            with self.subTest(options=options):
                result = self.run_tune(*options, "--", "true")
                self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
                self.assertIn(message, result.stderr)
        result = self.run_tune("--time")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("COMMAND", result.stderr)


def wait_for(path):
    for _ in range(1200):
        if path.exists() and path.read_text():
            return
        time.sleep(0.05)
    raise AssertionError(f"{path} never came")


class State(Case):
    # The third run waits until it is killed, or until it may go on.
    SLOW = 'echo $IEZ_STRIPE_COUNT $IEZ_STRIPE_SIZE >> runs; test -e go || test "$(wc -l < runs)" -lt 3 || { echo $$ > child; sleep 300; }; ' \
           "echo $((IEZ_STRIPE_COUNT * 10)) MB/s"

    def command(self, *options):
        return ("--json", *SMALL, "--state", "state", *options, "--", "sh", "-c", self.SLOW)

    def kill_in_the_third_run(self):
        process = subprocess.Popen([IEZ, "tune", *self.command()], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        wait_for(self.folder / "child")
        process.kill()
        process.wait(timeout=60)
        (self.folder / "go").touch()

    def test_continues_after_a_kill(self):
        (self.folder / "go").touch()
        whole = json.loads(self.run_tune(*self.command()).stdout)
        asked = self.runs()
        for name in ("go", "runs", "state"):
            (self.folder / name).unlink()
        self.kill_in_the_third_run()
        state = self.folder / "state"
        self.assertEqual(len(state.read_text(encoding="utf-8").splitlines()), 3)
        with open(state, "a", encoding="utf-8") as file:  # as if the kill had come while a line was written
            file.write('{"stripe_count":1,"stri')
        result = self.run_tune(*self.command())
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("state: 2 runs known\n", result.stderr)
        document = json.loads(result.stdout)
        self.assertEqual(document.pop("known_runs"), 2)
        self.assertEqual(whole.pop("known_runs"), 0)
        self.assertEqual(document, whole)
        self.assertEqual(self.runs(), asked[:3] + asked[2:])  # the third twice
        lines = state.read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(lines), 1 + whole["total_runs"])
        for line in lines:
            json.loads(line)
        before = self.runs()
        self.assertEqual(json.loads(self.run_tune(*self.command()).stdout)["best"], whole["best"])
        self.assertEqual(self.runs(), before)

    def test_of_another_tuning(self):
        (self.folder / "go").touch()
        self.run_tune(*self.command())
        before = (self.folder / "state").read_bytes()
        for arguments, message in (
            (("--counts", "1,2", "--sizes", "1M..4M", "--state", "state", "--", "sh", "-c", self.SLOW),
             "iez tune: state: made with counts '[1,2,4,8]', now it is '[1,2]'"),
            ((*SMALL, "--state", "state", "--", "true"), "iez tune: state: made with command"),
            ((*SMALL, "--state", "state", "--time", "--", "sh", "-c", self.SLOW), "iez tune: state: made with measure 'rate'"),
        ):
            result = self.run_tune(*arguments)
            self.assertIn(message, result.stderr.replace('\'"rate"\'', "'rate'"))
            self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertEqual((self.folder / "state").read_bytes(), before)

    def test_other_files_are_left_alone(self):
        (self.folder / "state").write_text("my notes\n", encoding="utf-8")
        result = self.run_tune(*self.command())
        self.assertEqual(result.returncode, 1)
        self.assertIn("state: line 1: expected the first line of a file that 'iez tune --state' made", result.stderr)
        self.assertEqual((self.folder / "state").read_text(encoding="utf-8"), "my notes\n")

    def test_two_at_once(self):
        process = subprocess.Popen([IEZ, "tune", *self.command()], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            wait_for(self.folder / "child")
            result = self.run_tune(*self.command())
            self.assertEqual(result.returncode, 1)
            self.assertIn("state: another 'iez tune' is using it", result.stderr)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)


class Directory(Case):
    def path_with(self, lfs):
        tools = self.folder / "tools"
        tools.mkdir()
        if lfs:
            (tools / "lfs").write_text(lfs, encoding="utf-8")
            (tools / "lfs").chmod(0o755)
        return {"PATH": f"{tools}:{os.environ['PATH']}"}

    def test_the_layout_is_set_before_each_run(self):
        environment = self.path_with('#!/bin/sh\necho "$@" >> calls\necho "$3 $5" > layout\n')
        result = self.run_tune("--json", *SMALL, "--sweep", "--dir", "some where", "--", "sh", "-c",
                               'test "$(cat layout)" = "$IEZ_STRIPE_COUNT $IEZ_STRIPE_SIZE" && echo 1 MB/s', environment=environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        calls = (self.folder / "calls").read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(calls), 12)
        self.assertEqual(calls[0], f"setstripe -c 1 -S {MIB} some where")
        self.assertEqual(json.loads(result.stdout)["setstripe"], "lfs setstripe -c 1 -S 1M 'some where'")

    def test_lfs_fails(self):
        result = self.run_tune(*SMALL, "--dir", "d", "--", "true", environment=self.path_with("#!/bin/sh\necho not on Lustre >&2\nexit 22\n"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("  | not on Lustre\n", result.stderr)
        self.assertRegex(result.stderr, r"iez tune: --dir: 'lfs setstripe -c \d+ -S \d+M d': exit status 22")

    def test_no_lfs(self):
        result = self.run_tune(*SMALL, "--dir", "d", "--", "true", environment={"PATH": str(self.folder)})
        self.assertEqual(result.returncode, 1)
        self.assertIn("--dir: 'lfs' is not installed here", result.stderr)


if __name__ == "__main__":
    unittest.main()
