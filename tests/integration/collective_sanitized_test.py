#!/usr/bin/env python3
"""libiez-mpi-openmpi.so with the address and undefined behaviour sanitizers in it, under programs that have none: no report, right bytes.

What the MPI's own code gets wrong, or crashes in, is left out; with some seeds OMPIO forgets its file pointer, too.
"""

import os
import unittest

from collective_test import NOT_OURS, Case, has, program

CHECKED = os.environ["IEZ_CHECKED"]  # for LD_PRELOAD, the runtimes first


class Sanitized(Case):
    def run_checked(self, ranks, command, hints):
        if not has("oracle", "openmpi"):
            self.skipTest("no Open MPI")
        words = ["env", "ASAN_OPTIONS=detect_leaks=0", f"LD_PRELOAD={CHECKED}", *command]  # MPIs leave memory behind
        outcome = self.run_ranks("openmpi", ranks, words, hints=hints, seconds=400)
        self.assertEqual(outcome.status, 0, (outcome.out + outcome.err)[:6000])

    def oracle(self, hints, *left_out):
        kinds = ",".join(["all", *(f"-{kind}" for kind in [*NOT_OURS, *left_out])])
        self.run_checked(4, [program("oracle", "openmpi"), "--seed", 32, "--rounds", 8, "--kinds", kinds, "--dir", self.folder, "--timeout", 300], hints)

    def test_one_node(self):
        self.oracle("iez_mode=collective")

    def test_several_nodes(self):
        # Nonblocking calls are the MPI's there, and OMPIO divides by 0 in some.
        self.oracle("iez_mode=collective;iez_ranks_per_node=2", "nonblocking")

    def test_logs(self):
        self.oracle("iez_mode=log", "rdonly", "visible", "unsynced")

    def test_faults(self):
        for case in ("signals", "bad_count", "null_type"):
            with self.subTest(case=case):
                self.run_checked(3, [program("faults", "openmpi"), case, self.folder / case, 65536, 1024], "iez_mode=collective")


if __name__ == "__main__":
    unittest.main()
