#!/usr/bin/env python3
"""iez collective explain: layouts from files and options, choices and their reasons, work, what makes no sense."""

import json
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
IEZ = os.environ.get("IEZ", str(ROOT / "build/dev/apps/iez/iez"))
LAYOUTS = pathlib.Path(os.environ.get("IEZ_TEST_DATA", ROOT / "tests/fixtures")) / "lustre-2.17.0/xattr"
COUNTERS = LAYOUTS.parents[1] / "collective/counters.jsonl"
MIB = 1 << 20


def run(*arguments):
    return subprocess.run([IEZ, "collective", "explain", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=60,
                          env={**os.environ, "LC_ALL": "C"}, stdin=subprocess.DEVNULL)


class Explain(unittest.TestCase):
    maxDiff = None

    def document(self, *arguments):
        result = run(*arguments, "--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stderr)
        return json.loads(result.stdout)

    def raw(self, name):
        return ("--file", LAYOUTS / f"{name}.lustre.lov.bin", "--raw")

    def test_stripes_of_an_ost(self):
        document = self.document("-c", 7, "-n", 64, "--nodes", 4)
        self.assertTrue(document["striped"])
        self.assertEqual(document["way"], {"value": "collect", "because": "short_pieces"})
        self.assertEqual(document["aggregators"], {"value": 7, "because": "every_ost"})
        self.assertEqual(document["window_bytes"], {"value": MIB, "because": "short_start"})
        self.assertEqual([work["osts"] for work in document["work"]], [[ost] for ost in range(7)])
        self.assertEqual(sum(work["bytes"] for work in document["work"]), 64 * 8 * MIB)
        independent, contiguous, stripes = document["compared"]
        self.assertEqual(independent["calls"], 64 * 128)
        self.assertEqual((stripes["clients_per_object"], stripes["hand_overs"], stripes["calls"]), (1, 0, 512))
        self.assertGreater(contiguous["hand_overs"], 0)
        self.assertGreater(independent["hand_overs"], contiguous["hand_overs"])

    def test_hints_are_obeyed_and_reported(self):
        document = self.document("-c", 8, "-n", 64, "--nodes", 8, "--hint", "romio_lustre_co_ratio=2", "--hint", "cb_buffer_size=2M", "--hint",
                                 "directIO=enable", "--hint", "romio_cb_write=disable")
        self.assertEqual(document["aggregators"]["value"], 16)
        self.assertEqual(document["window_bytes"], {"value": MIB, "because": "buffer_hint"})
        self.assertEqual(document["memory_bytes"], 2 * MIB)
        self.assertEqual(document["direct"], {"value": True, "because": "asked"})
        self.assertEqual(document["way"], {"value": "independent", "because": "collect_hint"})
        told = {hint["key"]: hint["value"] for hint in document["hints"]}
        for key, value in (("CO", "2"), ("romio_lustre_co_ratio", "2"), ("cb_nodes", "16"), ("striping_factor", "8"), ("direct_write", "true")):
            self.assertEqual(told[key], value, key)
        self.assertFalse(self.document("--hint", "same_io_size=yes", "--hint", "contiguous_data=yes")["exchange"])

    def test_hints_that_are_none_are_told(self):
        result = run("--json", "--hint", "nothing=1", "--hint", "CO=many", "--hint", "CO=1")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(json.loads(result.stdout)["ignored_hints"], ["nothing=1", "CO=many"])
        self.assertIn("nothing=1", result.stderr)
        self.assertIn("CO=many", result.stderr)

    def test_layouts_of_files(self):
        overstriped = self.document(*self.raw("overstripe_1122"), "--nodes", 4)
        self.assertEqual([work["osts"] for work in overstriped["work"]], [[1], [2]])
        explicit = self.document(*self.raw("spec_5_0_4_1"), "--nodes", 4)
        self.assertEqual(explicit["components"][0]["osts"], [5, 0, 4, 1])
        progressive = self.document(*self.raw("pfl"))
        self.assertGreater(len(progressive["components"]), 1)
        self.assertIn(None, progressive["components"][-1]["osts"])
        default = self.document(*self.raw("dir_default"))["components"]  # what new files in a directory get
        self.assertEqual(default, [{"start": 0, "stripe_size": MIB // 2, "stripe_count": 3, "osts": [None] * 3}])
        self.assertEqual(self.document(*self.raw("dom"))["components"][0]["osts"], [None])
        self.assertEqual(len(self.document(*self.raw("mirror2"))["components"]), 1)

    def test_a_file_that_is_not_on_lustre(self):
        with tempfile.NamedTemporaryFile(dir="/tmp") as file:
            document = self.document("--file", file.name, "--nodes", 2, "--cpus", 3, "--hint", "striping_unit=2M")
        self.assertFalse(document["striped"])
        self.assertEqual(document["components"], [{"start": 0, "stripe_size": 2 * MIB, "stripe_count": 2, "osts": []}])
        self.assertEqual(document["aggregators"], {"value": 2, "because": "every_node"})
        self.assertEqual([row["hand_overs"] for row in document["compared"]], [None] * 3)

    def test_logs(self):
        """As on the source's machine: 512 ranks gain by logs, 4,096 lose, and nobody gains who brings them in at once."""
        def pays(ranks, *hints):
            document = self.document("-c", 160, "-n", ranks, "--nodes", ranks // 16, *(word for hint in hints for word in ("--hint", hint)))
            return document["logs"] and document["logs"]["pays"]
        self.assertTrue(pays(512, "iez_osts=480", "iez_flatten=later"))
        self.assertFalse(pays(4096, "iez_osts=480", "iez_flatten=later"))
        self.assertFalse(pays(512, "iez_osts=480"))
        self.assertIsNone(pays(512))

    def test_patterns(self):
        behind = self.document("-c", 4, "--contiguous")
        self.assertEqual(behind["way"], {"value": "pass", "because": "long_pieces"})
        self.assertEqual(behind["compared"][0]["calls"], 16)
        reading = self.document("-c", 4, "--read", "--nodes", 2)
        self.assertEqual(reading["compared"][0]["hand_overs"], None)
        holes = self.document("-c", 4, "-b", "1k", "--bytes", "16k", "--hole", "1k", "--offset", "512")
        self.assertEqual((holes["pattern"]["begin"], holes["pattern"]["end"]), (512, 512 + 256 * 2048 - 1024))
        self.assertEqual(holes["compared"][2]["calls"], 256)

    def test_text(self):
        text = run("-c", 72, "-n", 128, "--nodes", 64, "--cpus", 2).stdout
        self.assertIn("aggregators  72: CO for every OST", text)
        self.assertIn("and 56 more; --json has all", text)
        self.assertIn("LOCK HAND-OVERS", text)
        rows = run("-c", 2, "--no-header").stdout
        self.assertNotIn("AGGREGATOR", rows)
        self.assertNotIn("LOCK", run("--nodes", 2).stdout)
        self.assertIn("if data were collected", run("--contiguous").stdout)

    def test_what_makes_no_sense(self):
        for arguments, message in (
            (("--hint", "CO"), "--hint is 'CO': expected KEY=VALUE"),
            (("-c", 0), "--stripe-count is 0"),
            (("-c", 2, "-S", 1000), "expected a multiple of 64 KiB"),
            (("-S", "1M"), "--stripe-count"),
            (("-c", 2, "--file", "x"), "cannot be given together"),
            (("--raw",), "--file"),
            (("-n", 2, "--nodes", 3), "--nodes is 3: expected 1 to 2"),
            (("-n", 0), "--ranks is 0"),
            (("-b", 1000, "--bytes", 1001), "expected a multiple of the block, 1000"),
            (("-b", 0), "block: 0"),
            (("--bytes", "7E"), "1 EiB"),
            (("--bytes", "1G", "-b", 1), "a smaller part tells the same"),
        ):
            with self.subTest(arguments=arguments):
                result = run(*arguments)
                self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
                self.assertIn(message, result.stderr)

    def test_a_layout_that_is_none(self):
        with tempfile.NamedTemporaryFile(dir="/tmp") as file:
            # The default of a directory that leaves count and size to the file system.
            file.write(struct.pack("<IIQQIHH", 0x0BD10BD0, 1, 0, 0, 0, 0, 0xFFFF))
            file.flush()
            for arguments, message in ((("--file", file.name, "--raw"), "--stripe-count"), (self.raw("nothing"), "No such file")):
                with self.subTest(arguments=arguments):
                    result = run(*arguments)
                    self.assertEqual((result.returncode, result.stdout), (1, ""), result.stderr)
                    self.assertIn(message, result.stderr)

    def test_counters_of_a_run(self):
        document = self.document("--counters", COUNTERS)
        lab, plain = document["files"]
        self.assertEqual((lab["path"], lab["nodes"], lab["aggregators"], lab["striped"]), ("ckpt.0001", 4, 7, True))
        # The same as for the pattern, which is what the program wrote, once.
        pattern = self.document("-c", 7, "-n", 16, "--nodes", 4, "--cpus", 4, "-b", 65536, "--bytes", 32 * 65536, "--hint", "cb_buffer_size=8388608")
        independent, contiguous, stripes = (way["hand_overs"] for way in pattern["compared"])
        self.assertEqual(lab["hand_overs"], {"independent_ranks": independent, "contiguous_parts": contiguous, "stripes": stripes,
                                             "avoided": independent - stripes})
        self.assertGreater(independent, 0)
        self.assertEqual((plain["path"], plain["passed"], plain["hand_overs"]), ("restart.dat", 4, None))
        self.assertEqual(document["skipped_lines"], 0)
        text = run("--counters", COUNTERS).stdout
        for line in ("ckpt.0001: 16 ranks on 4 nodes", "calls        1 write and 1 read collected; 4 left to the MPI",
                     "file         64 transfers, 1.00 MiB each; 64 of them as large as an RPC", "locks        none: this is not Lustre"):
            self.assertIn(line + "\n", text)

    def test_counters_that_are_none(self):
        good = COUNTERS.read_text(encoding="utf-8").splitlines()[0]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "counters"
            bad = ["", "no JSON", "[]", "{}", good[:-5], good.replace('"version":1', '"version":2'), good.replace('"ranks":16,"nodes"', '"ranks":-1,"nodes"'),
                   good.replace('"stripe_size":1048576', '"stripe_size":0'), good.replace('"osts":[2,7,12,3,8,13,4]', '"osts":[]'),
                   good.replace('"calls":2', '"calls":1e300'), good.replace('"bytes":33554432,"ranks"', '"bytes":0,"ranks"')]
            path.write_text("\n".join([*bad, good, ""]), encoding="utf-8")
            result = run("--counters", path, "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(json.loads(result.stdout)["skipped_lines"], len(bad) - 1)
            self.assertEqual(len(json.loads(result.stdout)["files"]), 1)
            self.assertIn("line 2 is not a line of counters", result.stderr)
            for text, status, message in (("no JSON\n", 1, "no line of counters"), ("", 0, "")):
                path.write_text(text, encoding="utf-8")
                result = run("--counters", path)
                self.assertEqual((result.returncode, result.stdout), (status, ""))
                self.assertIn(message, result.stderr)
            self.assertEqual(run("--counters", path, "-n", 4).returncode, 2)
            self.assertEqual(run("--counters", pathlib.Path(folder) / "nothing").returncode, 1)


if __name__ == "__main__":
    unittest.main()
