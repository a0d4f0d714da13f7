#!/usr/bin/env python3
"""The guard on a lab: what iez says when it steps back, what it compares with, and that `iez app show` judges as the next run does."""

import json
import sqlite3
import unittest

import run_test

DAY = 24 * 3600 * 10**9
SIZES = [6, 1, 5, 1, 4, 1, 3, 1, 2, 2, 1, 1, 6, 1, 5, 1]  # MiB
TO_COMPARE = "by Lustre's default once, to have something to compare with"


class Guard(run_test.RunCase):
    def setUp(self):
        super().setUp()
        for name in ("IEZ_PLACE_WHEN", "IEZ_PLACE_LEAST_FILE"):
            del self.environment[name]

    def write(self, *flags, sizes=tuple(SIZES), small=0, over=False):
        """Files of unequal sizes, written together and for long enough to be timed, some below 1 MiB; what iez says."""
        if not over:
            self.empty()
        opened = "conv=notrunc " if over else ""
        slowly = "{{ head -c {0} /dev/zero; sleep 0.3; head -c 4096 /dev/zero; }} | dd {1}of=out.$n bs=64k status=none &"
        parts = [f"for m in {' '.join(map(str, sizes))}; do n=$((n + 1)); {slowly.format('${m}M', opened)} done",
                 f"for m in $(seq {small}); do n=$((n + 1)); {slowly.format('256K', opened)} done"]
        return self.report(["sh", "-c", "n=0; " + "; ".join(parts) + "; wait"], "--app", "guarded", *flags)

    def change(self, words, *values):
        with sqlite3.connect(self.state / "iez/iez.db") as database:
            database.execute(words, values)

    def time(self, seconds):
        """All runs so far took so long, by what is stored of them."""
        with sqlite3.connect(self.state / "iez/iez.db") as database:
            for number, phases in database.execute("SELECT id, phases FROM runs").fetchall():
                text = phases.decode() if isinstance(phases, bytes) else phases
                words = [one.split() for one in text.split(";")]
                timed = ";".join(f"{word[0]} {seconds / len(words)} {word[2]} {word[3]}" for word in words)
                database.execute("UPDATE runs SET phases = ? WHERE id = ?", (timed.encode() if isinstance(phases, bytes) else timed, number))

    def shown(self):
        return json.loads(self.iez("app", "show", "guarded", "--json").stdout), self.iez("app", "show", "guarded").stdout

    def test_steps_back_with_small_files_beside_large_ones(self):
        first = self.write(small=8)
        self.assertTrue(first["next_plan"], first)
        self.time(0.11)
        told = self.write(small=8)
        self.assertEqual((told["mode"], told["placed"], told["next_plan"]), ("place", 24, None), told)
        self.assertIn("placed runs were slower than by default", told["verdict"])
        shown, said = self.shown()
        self.assertTrue(shown["history"]["stepped_back"], shown)
        self.assertIn("stepped back: not placed", said)
        self.assertNotIn("confidence", said)  # of one run each
        self.assertEqual([run["counts_as"] for run in shown["runs"]], ["placed", "default"])
        told = self.write(small=8)
        self.assertEqual((told["mode"], told["placed"]), ("learn", 0), told)

    def test_goes_by_default_once_to_compare(self):
        self.write()
        for _ in range(2):
            told = self.write()
            self.assertEqual(told["mode"], "place", told)
        # The run by default is too old to count.
        self.change("UPDATE runs SET started_ns = started_ns - ?, ended_ns = ended_ns - ? WHERE mode = 0", 40 * DAY, 40 * DAY)
        self.assertIn("next run: " + TO_COMPARE, self.shown()[1])
        told = self.write()
        self.assertEqual((told["mode"], told["verdict"]), ("place", TO_COMPARE), told)
        self.assertIn("next run: " + TO_COMPARE, self.shown()[1])
        told = self.write()
        self.assertEqual((told["mode"], told["placed"]), ("learn", 0), told)
        self.assertNotEqual(told["verdict"], TO_COMPARE)
        shown, _ = self.shown()
        self.assertEqual((shown["history"]["whole"]["by_default"], shown["history"]["whole"]["placed"]), (1, 3), shown)

    def test_more_files_are_compared_once(self):
        for _ in range(2):
            self.write(sizes=SIZES[:10])
        told = [self.write() for _ in range(6)]
        self.assertEqual([(one["mode"], one["placed"]) for one in told],
                         [("place", 10), ("place", 16), ("learn", 0), ("place", 16), ("place", 16), ("place", 16)], told)
        self.assertEqual([one["verdict"] == TO_COMPARE for one in told], [False, True, False, False, False, False], told)
        shown, _ = self.shown()
        self.assertEqual([run["counts_as"] for run in shown["runs"]],
                         ["placed", "placed", "placed", "default", "placed", "placed", "placed", "default"])

    def test_what_is_too_short_is_not_compared(self):
        self.write()
        self.time(0.02)
        shown, said = self.shown()
        self.assertEqual((shown["history"]["whole"], shown["history"]["too_short"]), (None, 1))
        self.assertIn("phases under 0.1 s are too short to compare", said)

    def test_what_is_written_over_is_no_run_by_default(self):
        self.write()
        self.write()
        self.write(over=True)
        shown, said = self.shown()
        self.assertEqual([run["counts_as"] for run in shown["runs"]], ["overwrote", "placed", "default"])
        self.assertEqual(shown["history"]["whole"]["by_default"], 1)
        table = said[said.index("RUN (UTC)"):].splitlines()
        self.assertLessEqual(max(map(len, table)), 80, table)


if __name__ == "__main__":
    unittest.main()
