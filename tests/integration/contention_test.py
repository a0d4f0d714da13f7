#!/usr/bin/env python3
"""iez contention and iez advise: the published figures, live pictures of captures, what makes no sense."""

import json
import os
import pathlib
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
IEZ = os.environ.get("IEZ", str(ROOT / "build/dev/apps/iez/iez"))
CAPTURES = pathlib.Path(os.environ.get("IEZ_TEST_DATA", ROOT / "tests/fixtures")) / "captures"
CLUSTERS = ROOT / "examples/clusters"
AFTER = ("--root", "lustre-2.17.0-after")
JOB = ("--ranks", "1024", "--ranks-per-node", "16", "--bytes", "400G", "--block", "4M")


def run(*arguments, **options):
    return subprocess.run([IEZ, *map(str, arguments)], cwd=CAPTURES, capture_output=True, text=True, check=False, timeout=60,
                          env={**os.environ, "LC_ALL": "C"}, **{"stdin": subprocess.DEVNULL, **options})


class Case(unittest.TestCase):
    maxDiff = None

    def document(self, *arguments):
        result = run(*arguments, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def assert_refused(self, command, cases, status=2):
        for arguments, message in cases:
            with self.subTest(arguments=arguments):
                result = run(command, *arguments)
                self.assertEqual((result.returncode, result.stdout), (status, ""), result.stderr)
                self.assertIn(message, result.stderr)


class WhatIf(Case):
    def rows(self, *arguments):
        return self.document("contention", *arguments)["rows"]

    def test_published_tables(self):
        for osts, stripes, in_use, load in (
            (480, 160, (160.00, 266.67, 337.78, 385.19, 416.79, 437.86, 451.91, 461.27, 467.51, 471.68),
             (1.00, 1.20, 1.42, 1.66, 1.92, 2.19, 2.48, 2.78, 3.08, 3.39)),
            (480, 64, (64.00, 119.47, 167.54, 209.20, 245.31, 276.60, 303.72, 327.22, 347.59, 365.25), (1.00, None, None, None, None, None, None,
                                                                                                        None, None, 1.75)),
            (160, 128, (128.00, 153.60, 158.72, 159.74, 159.95, 159.99), (1.00, 1.67, 2.42)),
        ):
            rows = self.rows("--osts", osts, "--stripes", stripes, "--jobs", 10)
            for row, expected in zip(rows, in_use):
                self.assertAlmostEqual(row["in_use"], expected, delta=0.006)
            for row, expected in zip(rows, load):
                if expected:
                    self.assertAlmostEqual(row["load"], expected, delta=0.006)
            for row in rows:
                self.assertAlmostEqual(sum(row["used_by"]), osts, delta=1e-6)
                self.assertAlmostEqual(row["in_use"], osts - row["used_by"][0], delta=1e-6)

    def test_log_structured(self):
        loads = {row["jobs"]: row["load"] for row in self.rows("--osts", 480, "--plfs", "--jobs", 4096)}
        self.assertAlmostEqual(loads[512], 2.42, delta=0.005)  # 2.4 in the source
        self.assertAlmostEqual(loads[2048], 8.53, delta=0.006)
        self.assertAlmostEqual(loads[4096], 17.07, delta=0.006)
        self.assertAlmostEqual(self.rows("--osts", 480, "--plfs", "--jobs", 688)[-1]["load"], 3, delta=0.05)

    def test_unequal_requests(self):
        rows = self.rows("--osts", 480, "--stripes", "160,64,64")
        self.assertEqual([(row["jobs"], row["stripes"], row["requested"]) for row in rows], [(1, 160, 160), (2, 64, 224), (3, 64, 288)])

    def test_buying(self):
        document = self.document("contention", "--osts", 480, "--stripes", 160, "--jobs", 10, "--max-load", 2)
        self.assertEqual((document["jobs_to_pass"], document["max_load"]), (6, 2))
        needed = document["osts_needed"]
        self.assertLessEqual(self.rows("--osts", needed, "--stripes", 160)[-1]["load"], 2)
        self.assertGreater(self.rows("--osts", needed - 1, "--stripes", 160)[-1]["load"], 2)
        document = self.document("contention", "--osts", 480, "--stripes", "160,64", "--max-load", 5)
        self.assertEqual(document["jobs_to_pass"], None)
        self.assertIn("; no number of OSTs keeps 10 jobs at or below it\n",
                      run("contention", "--osts", 480, "--stripes", 160, "--max-load", 1).stdout)

    def test_plot(self):
        plain, drawn = (run("contention", "--osts", 480, "--stripes", 160, *option).stdout for option in ((), ("--plot",)))
        self.assertTrue(drawn.startswith(plain))
        self.assertIn("* D_load over jobs", drawn)

    def test_usage(self):
        self.assert_refused("contention", (
            (("--osts", 480), "--stripes is missing"), (("--osts", 480, "--stripes", 500), "500"), (("--osts", 0, "--stripes", 1), "0"),
            (("--osts", 480, "--stripes", "1,x"), "--stripes: found 'x'"), (("--osts", 480, "--stripes", "1,2", "--jobs", 2), "--jobs with 2 values"),
            (("--osts", 480, "--plfs"), "--jobs is missing"), (("--osts", 480, "--plfs", "--jobs", 4, "--stripes", 2), "--stripes with --plfs"),
            (("--osts", 480, "--stripes", 2, "--jobs", 0), "--jobs is 0: expected 1 to 1000000"), (("--osts", 480, "--stripes", 2, "--jobs", 2**64 - 1), "--jobs is 18446744073709551615"), (("--osts", 480, "--stripes", 2, "--max-load", "0.5"), "--max-load: found 0.5"),
            (("--osts", 480, "--stripes", 2, *AFTER), "--osts with --root"), (("--osts", 480, "--stripes", 2, "--top", 3), "leave --osts out"),
            (("--stripes", 2), "need --osts"), (("--osts", -1, "--stripes", 2), "expected a whole number"),
            ((*AFTER, "--min-bytes", "few"), "--min-bytes"),
        ))


class Live(Case):
    def test_agrees_with_top(self):
        document = self.document("contention", *AFTER, "--min-bytes", 0)
        jobs = self.document("top", *AFTER, "--per", "ost")["jobs"]
        uses = {(job["job_id"], part["target"]): part["write_bytes"] for job in jobs for part in job["per_target"]
                if "-OST" in part["target"] and part["write_bytes"] > 0}
        osts = {target for _, target in uses}
        self.assertEqual(document["now"], {"requested": len(uses), "in_use": len(osts), "load": len(uses) / len(osts)})
        self.assertEqual({ost["target"]: sorted(ost["job_ids"]) for ost in document["hottest"]},
                         {ost: sorted(job for job, target in uses if target == ost) for ost in osts})
        self.assertEqual(sum(job["write_bytes"] for job in document["jobs"]), sum(uses.values()))
        self.assertEqual(sum(document["used_by"]), document["osts"])
        for pair in document["pairs"]:
            first, second = ({target for job, target in uses if job == name} for name in pair["job_ids"])
            self.assertEqual(pair["osts_shared"], len(first & second))
        for job in document["jobs"]:
            self.assertEqual(job["osts_used"], sum(1 for name, _ in uses if name == job["job_id"]))
        self.assertTrue(document["pairs_complete"])

    def test_small_jobs_are_left_out(self):
        everybody = self.document("contention", *AFTER, "--min-bytes", 0)
        large = self.document("contention", *AFTER, "--min-bytes", "10M")
        self.assertEqual({job["job_id"] for job in large["jobs"]}, {"dd.0", "dd.1000"})
        self.assertEqual(large["jobs_small"], len(everybody["jobs"]) - 2)
        nobody = self.document("contention", *AFTER, "--min-bytes", "1T")
        self.assertEqual((nobody["now"]["load"], nobody["jobs"], nobody["against_chance"]), (0, [], 1))
        self.assertIn("0 jobs on 0 of 6 OSTs", run("contention", *AFTER, "--min-bytes", "1T").stdout)

    def test_between_two_captures(self):
        document = self.document("contention", *AFTER, "--since", "lustre-2.17.0-before")
        self.assertEqual(document["rate_basis"], "interval")
        self.assertGreater(document["interval_seconds"], 60)
        for job in document["jobs"]:
            self.assertGreater(job["write_rate"], 0)
            self.assertLessEqual(job["shared_write_rate"] or 0, job["write_rate"] * (1 + 1e-9))
        still = self.document("contention", *AFTER, "--interval", "50ms")
        self.assertEqual((still["rate_basis"], still["jobs"]), ("interval", []))

    def test_without_rates(self):
        result = run("contention", "--root", "lustre-2.10.1", "--json")
        document = json.loads(result.stdout)
        self.assertEqual((document["rate_basis"], document["now"]["load"]), ("none", 35))
        self.assertEqual({job["write_rate"] for job in document["jobs"]}, {None})
        self.assertGreater(document["against_chance"], 3)
        self.assertIn("job_stats of 4 of 7 OSTs: give --root for each object server", result.stderr)

    def test_rows_and_pictures(self):
        self.assertEqual(len(self.document("contention", *AFTER, "--top", 2)["jobs"]), 2)
        self.assertEqual(len(self.document("contention", *AFTER, "--top", 0)["jobs"]), 9)
        result = run("contention", *AFTER, "--watch", "--count", 2, "--every", "50ms", "--json")
        pictures = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual(len(pictures), 2)
        self.assertLess(pictures[0]["time"], pictures[1]["time"])

    def test_failed(self):
        self.assert_refused("contention", (
            (("--root", "nowhere"), "nowhere: No such file or directory"), (("--root", "get_param/valid.txt"), "no job_stats found"),
        ), 1)
        result = run("contention", *AFTER, "--fs", "x")
        self.assertEqual(result.returncode, 1)


class Advise(Case):
    def test_fewer_stripes_for_nearly_the_same_speed(self):
        document = self.document("advise", "--machine", "lscratchc", *JOB, "--others", "160,160,160")
        curve = {choice["stripe_count"]: choice for choice in document["curve"]}
        chosen, fastest = curve[document["stripe_count"]], curve[document["fastest_count"]]
        self.assertGreaterEqual(chosen["share_of_best"], 0.9)
        self.assertEqual(fastest["share_of_best"], 1)
        self.assertLess(document["stripe_count"], document["fastest_count"])
        self.assertEqual(document["setstripe"], f"lfs setstripe -c {document['stripe_count']} -S 64M DIR")
        self.assertEqual((document["machine"]["osts"], document["others_jobs"], document["machine"]["assumed"]), (480, 3, ""))
        self.assertAlmostEqual(curve[160]["load"], 640 / 385.19, delta=0.005)

    def test_accept(self):
        nothing = self.document("advise", "--machine", "lscratchc", *JOB, "--others", "160,160,160", "--accept", "0")
        much = self.document("advise", "--machine", "lscratchc", *JOB, "--others", "160,160,160", "--accept", "50%")
        self.assertEqual(nothing["stripe_count"], nothing["fastest_count"])
        self.assertLess(much["stripe_count"], nothing["stripe_count"])

    def test_many_files_contend(self):
        document = self.document("advise", "--machine", "lscratchc", "--ranks", 4096, "--ranks-per-node", 16, "--bytes", "4T", "--per-process")
        self.assertLess(document["aggregation"]["writers"], 4096)
        self.assertIn("files at once contend with each other", document["reason"])

    def test_others_follow(self):
        document = self.document("advise", "--machine", "lscratchc", *JOB, "--others-follow", 3)
        self.assertEqual(document["others_jobs"], 3)

    def test_a_described_cluster(self):
        path = CLUSTERS / "lscratchc.toml"
        document = self.document("advise", "--cluster", path, *JOB)
        self.assertEqual((document["machine"]["osts"], document["machine"]["servers"], document["machine"]["server_rate"]), (480, 32, 937.5e6))
        self.assertEqual(document["machine"]["assumed"], "OST rate 500 MB/s (--ost-rate), node rate 1.00 GB/s (--node-rate)")
        document = self.document("advise", "--cluster", path, *JOB, "--ost-rate", "100MB/s", "--server-rate", "1GB/s", "--node-rate", "2GB/s",
                                 "--max-stripes", 40)
        self.assertEqual((document["machine"]["ost_rate"], document["machine"]["server_rate"], document["machine"]["node_rate"]), (1e8, 1e9, 2e9))
        self.assertEqual((document["machine"]["assumed"], document["curve"][-1]["stripe_count"]), ("", 40))
        with open(path, encoding="utf-8") as file:
            result = run("advise", "--cluster", "-", *JOB, "--json", stdin=file)
        self.assertEqual(json.loads(result.stdout)["machine"]["osts"], 480)

    def test_live_load(self):
        document = self.document("advise", *AFTER, "--ranks", 8, "--bytes", "4G")
        self.assertEqual((document["others_jobs"], document["machine"]["osts"]), (9, 6))
        self.assertEqual(self.document("advise", *AFTER, "--ranks", 8, "--bytes", "4G", "--others", "2")["others_jobs"], 1)
        text = run("advise", *AFTER, "--ranks", 8, "--bytes", "4G").stdout
        self.assertIn("others: 9 jobs seen in job_stats, on 6 OSTs, D_load 3.17\n", text)

    def test_nobody_known(self):
        result = run("advise", "--root", "get_param/valid.txt", "--ranks", 8, "--bytes", "4G")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("nobody else is taken to write: say otherwise with --others", result.stderr)

    def test_usage(self):
        named = ("--machine", "lscratchc")
        self.assert_refused("advise", (
            ((*named, "--bytes", "1G"), "--ranks"), ((*named, "--ranks", 1), "--bytes"), ((*named, "--ranks", 0, "--bytes", "1G"), "--ranks is 0"),
            ((*named, "--ranks", 1, "--bytes", 0), "--bytes is 0"), (("--machine", "x", *JOB), "--machine: found 'x'; expected lscratchc"),
            ((*named, "--cluster", "x", *JOB), "only one can tell the machine"), ((*named, *JOB, "--accept", "200%"), "--accept: found '200%'"),
            ((*named, *JOB, "--others", "1", "--others-follow", 2), "--others with --others-follow"), ((*named, *JOB, "--others", "500"), "--others: "),
            ((*named, *JOB, "--shared", "--per-process"), "--per-process"), ((*named, *JOB, "--ost-rate", "0MB/s"), "--ost-rate is 0"),
            ((*named, *JOB, "--max-stripes", 0), "--max-stripes is 0"), ((*named, "--ranks", 4, "--bytes", "1G", "--ranks-per-node", 0), "--ranks-per-node is 0"),
        ))
        self.assert_refused("advise", ((("--cluster", "nowhere", *JOB), "nowhere: No such file or directory"),), 1)


if __name__ == "__main__":
    unittest.main()
