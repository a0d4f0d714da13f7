#!/usr/bin/env python3
"""iez run on a lab: learnt, planned, placed as planned; learnt again; killed, concurrent, without a store; signals and statuses."""

import fcntl
import json
import os
import pathlib
import re
import random
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

from mariadb_server import PROGRAM, start_mariadb

ROOT = pathlib.Path(__file__).resolve().parents[2]
IEZ = os.environ.get("IEZ", str(ROOT / "build/dev/apps/iez/iez"))
LONG = os.environ.get("IEZ_LONG") == "1"
CAN_MOUNT = os.path.exists("/dev/fuse") and shutil.which("fusermount3") is not None
LIMIT = 120  # seconds
WRITE = "for i in 1 2 3 4 5 6; do dd if=/dev/zero of=out.$i bs=64k count=$((i * 8)) status=none; done"


def run(command, check=True, **options):
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, timeout=LIMIT,
                            stdin=subprocess.DEVNULL, **options)
    if check and result.returncode != 0:
        raise AssertionError(f"{command}: {result.returncode}: {result.stderr}")
    return result


@unittest.skipUnless(CAN_MOUNT, "FUSE is not there")
class RunCase(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="iez-run-")
        cls.addClassCleanup(folder.cleanup)
        cls.base = pathlib.Path(folder.name)
        cls.lab = cls.base / "lab"
        cls.addClassCleanup(lambda: run([IEZ, "lab", "down", "--dir", cls.lab], check=False))
        run([IEZ, "lab", "up", "--dir", cls.lab, "--name", "loop", *cls.lab_options()])
        cls.mount = cls.lab / "mnt/client0"

    @classmethod
    def lab_options(cls):
        return ["--oss", "2", "--osts", "4", "--ost-size", "128M"]

    def setUp(self):
        self.place = self.mount / self.id().rsplit(".", 1)[-1]
        self.place.mkdir()
        self.addCleanup(shutil.rmtree, self.place, True)
        folder = tempfile.TemporaryDirectory(prefix="iez-state-")
        self.addCleanup(folder.cleanup)
        self.state = pathlib.Path(folder.name)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("IEZ_")}
        self.environment.update(IEZ_STATE=str(self.state / "iez"), OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                OMPI_MCA_orte_tmpdir_base=str(self.state), OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_btl="self,vader",
                                OMPI_MCA_btl_vader_single_copy_mechanism="none", XDG_CONFIG_HOME=str(self.state),
                                IEZ_PLACE_WHEN="always", IEZ_PLACE_LEAST_FILE="1")  # class Choice has the defaults

    def exec_words(self, command, *flags):
        """Through `iez lab exec`, as a user would."""
        inside = ["env", "-C", self.place, IEZ, "run", *flags, "--", *command]
        return [IEZ, "lab", "exec", "--dir", self.lab, "--", *inside]

    def iez_run(self, command, *flags, check=True, **options):
        return run(self.exec_words(command, *flags), check=check, env=self.environment, **options)

    def report(self, command, *flags, check=True):
        """What `iez run --json` says on stderr, behind whatever the command says there."""
        result = self.iez_run(command, "--json", *flags, check=check)
        return json.loads(result.stderr.splitlines()[-1])

    def iez(self, *words, check=True):
        return run([IEZ, *words], check=check, env=self.environment)

    def plan(self, application):
        entries = json.loads(self.iez("plan", "show", application, "--json").stdout)["entries"]
        return {entry["name"]: entry["layouts"][0]["components"][0] for entry in entries if entry["kind"] == "file"}

    def osts_of(self, name):
        found = json.loads(self.iez("layout", "show", "--json", name).stdout)
        return [one["ost"] for one in found["components"][0]["objects"]]

    def lies_as(self, planned, name):
        self.assertEqual(self.osts_of(name), planned["osts"], name)

    def empty(self):
        for name in self.place.iterdir():
            name.unlink()

    def nothing_left(self):
        self.assertEqual([entry.name for entry in (self.state / "iez/runs").iterdir()], [])

    def twice(self, application, command, names):
        """Runs it, looks at the plan, removes its files, runs it again: they lie as planned."""
        first = self.report(command, "--app", application)
        self.assertEqual((first["mode"], first["recorded"], first["given_up"]), ("learn", True, False), first)
        self.assertTrue(first["next_plan"], first)
        planned = self.plan(application)
        for name in names:
            self.assertIn(str(self.place / name), planned)
            (self.place / name).unlink()
        second = self.report(command, "--app", application)
        self.assertEqual((second["mode"], second["plan"], second["created"] - second["predicted"]), ("place", first["next_plan"], 0), second)
        for name in names:
            self.lies_as(planned[str(self.place / name)], self.place / name)
        self.nothing_left()
        return first, second

    def mpi_program(self, flavour):
        launcher = shutil.which(f"mpirun.{flavour}")
        compiler = shutil.which(f"mpicc.{flavour}")
        if not launcher or not compiler:
            self.skipTest(f"{flavour} is not here")
        program = self.state / "mpi_io"
        run([compiler, "-O1", ROOT / "tests/preload/mpi_io.c", "-o", program])
        return [launcher, "-n", "8", program, self.place / "shared", "4", "65536"]

    def mpi(self, flavour):
        self.twice(f"mpi-{flavour}", self.mpi_program(flavour), ["shared"])

    def mpi_hints(self, flavour):
        """What the program asks of the MPI is its own wish, also where the MPI makes nothing of it, as on a file system that is not Lustre."""
        command, application = self.mpi_program(flavour), f"hints-{flavour}"
        first = self.report(command, "--app", application)
        self.assertTrue(first["next_plan"], first)
        (self.place / "shared").unlink()
        told = self.report([*command, "striping_unit", "0"], "--app", application)  # says nothing
        self.assertEqual((told["placed"], told["respected"]), (1, 0), told)
        (self.place / "shared").unlink()
        second = self.report([*command, "striping_factor", "2"], "--app", application)
        self.assertEqual((second["mode"], second["placed"]), ("place", 0), second)
        self.assertGreaterEqual(second["respected"], 1, second)
        self.assertIsNone(second["next_plan"], second)
        self.assertIn("1 whose stripes the program chooses", second["verdict"], second)


class Loop(RunCase):
    def test_shell(self):
        names = [f"out.{i}" for i in range(1, 7)]
        _, second = self.twice("shell", ["sh", "-c", WRITE], names)
        self.assertEqual((second["placed"], second["files"], second["accuracy"]), (6, 6, 100.0))
        # Each file on a target of its own: there are eight.
        osts = {tuple(component["osts"]) for component in self.plan("shell").values()}
        self.assertEqual(len(osts), 6)
        shown = json.loads(self.iez("app", "show", "shell", "--json").stdout)["prediction"]["model"]["templates"]
        self.assertTrue(shown)
        told = self.iez("app", "show", "shell").stdout
        # Two runs of a minute are told apart, and how long each took is told as people say it.
        self.assertEqual(len(re.findall(r"(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +\d+(?:\.\d+)? (?:ms|s) ", told)), 2, told)
        for template in shown:
            self.assertIn(f"  {template['pattern']}, {template['files']} file", told)

    def test_what_is_written_over_counts_once(self):
        # Four times the same bytes, by truncation and in place; and a log that many processes append to, each knowing of its own bytes.
        command = ("for turn in 1 2 3 4; do dd if=/dev/zero of=again bs=256K count=4 status=none; "
                   "dd if=/dev/zero of=inplace bs=256K count=4 conv=notrunc status=none; done; "
                   "for i in 1 2 3 4 5 6; do head -c 10000 /dev/zero >> log; done")
        self.report(["sh", "-c", command], "--app", "over")
        rows = {}
        for line in self.iez("db", "export").stdout.splitlines():
            for record in (value for kind, value in json.loads(line).items() if kind == "file"):
                rows[pathlib.Path(record["name"]).name] = record["written"]
        self.assertEqual(rows, {"again": 1 << 20, "inplace": 1 << 20, "log": 60000})

    def test_openmpi(self):
        self.mpi("openmpi")

    def test_mpich(self):
        self.mpi("mpich")

    def test_hints_openmpi(self):
        self.mpi_hints("openmpi")

    def test_hints_mpich(self):
        self.mpi_hints("mpich")

    def test_hdf5(self):
        if not shutil.which("mpicc.openmpi") or run(["pkg-config", "--exists", "hdf5-openmpi"], check=False).returncode != 0:
            self.skipTest("HDF5 for Open MPI is not here")
        flags = run(["pkg-config", "--cflags", "--libs", "hdf5-openmpi"]).stdout.split()
        program = self.state / "hdf5_ranks"
        run(["mpicc.openmpi", "-O1", ROOT / "tests/preload/hdf5_ranks.c", *flags, "-o", program])
        self.twice("hdf5", ["mpirun.openmpi", "-n", "2", program, self.place / "data.h5", "64"], ["data.h5"])

    def test_folders_with_other_names(self):
        """A part of the names is new in each run: the plan has a pattern."""
        command = ["sh", "-c", "d=$(mktemp -d job.XXXXXX); for i in 1 2 3 4; do dd if=/dev/zero of=$d/out.$i bs=64k count=8 status=none; done"]
        for _ in range(3):
            self.report(command, "--app", "jobs")
        entries = json.loads(self.iez("plan", "show", "jobs", "--json").stdout)["entries"]
        self.assertTrue(any(entry["kind"] == "pattern" for entry in entries), entries)
        placed = self.report(command, "--app", "jobs")
        self.assertEqual((placed["mode"], placed["placed"], placed["predicted"]), ("place", 4, 4), placed)

    def test_files_behind_links(self):
        """f.N -> data.N, not there yet: learnt and placed by the names of the files, and explained by those of the links."""
        for number in range(1, 7):
            (self.place / f"out.{number}").symlink_to(f"data.{number}")
        first = self.report(["sh", "-c", WRITE], "--app", "links")
        planned = self.plan("links")
        for number in range(1, 7):
            (self.place / f"data.{number}").unlink()
        second = self.report(["sh", "-c", WRITE], "--app", "links")
        self.assertEqual((first["created"], second["placed"], second["existing"]), (0, 6, 0), second)
        for number in range(1, 7):
            self.lies_as(planned[f"{self.place}/data.{number}"], self.place / f"data.{number}")
        (self.state / "way").symlink_to(self.place)
        for name in (self.place / "out.1", self.state / "way/out.1", self.state / "way/data.1"):
            self.assertIn("data.1", json.loads(self.iez("plan", "explain", "--json", name).stdout)["name"])

    def test_learns_again(self):
        command = ["sh", "-c", 'for i in 1 2 3 4; do dd if=/dev/zero of=$0.$i bs=64k count=$1 status=none; done']
        app = ("--app", "drift")
        self.assertEqual(self.report([*command, "a", "4"], *app)["mode"], "learn")
        self.empty()
        self.assertEqual(self.report([*command, "a", "4"], *app)["mode"], "place")
        other = self.report([*command, "b", "4"], *app)  # none of its files is in the plan
        self.assertEqual((other["mode"], other["created"], other["predicted"], other["given_up"], other["next_plan"]),
                         ("place", 4, 0, True, None), other)
        self.assertIn("no plan", self.iez("plan", "show", "drift", check=False).stderr)
        self.empty()
        again = self.report([*command, "b", "4"], *app)
        self.assertEqual((again["mode"], again["plan"]), ("learn", None))
        planned = self.plan("drift")
        self.assertIn(str(self.place / "b.1"), planned)
        self.assertNotIn(str(self.place / "a.1"), planned)
        self.empty()
        fits = self.report([*command, "b", "4"], *app)
        self.assertEqual((fits["mode"], fits["given_up"]), ("place", False))
        self.empty()
        larger = self.report([*command, "b", "16"], *app)  # sizes are off
        self.assertEqual((larger["mode"], larger["given_up"]), ("place", True), larger)
        self.assertIn("sizes", " ".join(larger["notes"]))

    def test_numbers_that_are_skipped(self):
        """A checkpoint of one step a run, some of which are left out: the very next run is predicted again."""
        def step(number):
            return self.report(["sh", "-c", f"for i in 1 2 3 4; do dd if=/dev/zero of=ckpt_STEP{number}_$i bs=64k count=$i status=none; done"], "--app", "gap")

        self.assertEqual(step(1)["mode"], "learn")
        second = step(2)  # planned were the files of step 1
        self.assertEqual((second["predicted"], second["given_up"]), (0, False), second)
        for number, predicted in ((3, 4), (5, 0), (6, 4), (9, 0), (10, 4), (11, 4)):
            told = step(number)
            self.assertEqual((told["mode"], told["created"], told["predicted"], told["placed"], told["given_up"]),
                             ("place", 4, predicted, predicted, False), (number, told))
            self.assertEqual("other numbers than predicted" in " ".join(told["notes"]), predicted == 0, told)

    def test_a_target_dies(self):
        self.report(["sh", "-c", WRITE], "--app", "dying")
        planned = self.plan("dying")
        victim = next(iter(planned.values()))["osts"][0]
        for name in planned:
            pathlib.Path(name).unlink()
        self.addCleanup(lambda: run([IEZ, "lab", "fault", "--dir", self.lab, "none"]))
        run([IEZ, "lab", "fault", "--dir", self.lab, "full", f"ost{victim}"])
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            seen = json.loads(self.iez("status", "--json", "--root", self.lab / "params/client0").stdout)
            if any(ost["index"] == victim and ost["available_bytes"] == 0 for ost in seen["filesystems"][0]["osts"]):
                break
            time.sleep(0.2)
        else:
            self.skipTest("the client did not notice")
        second = self.report(["sh", "-c", WRITE], "--app", "dying")
        self.assertEqual((second["mode"], second["predicted"], second["placed"]), ("place", 6, 6), second)
        self.assertTrue(any(f"planned anew: OST {victim}" in note for note in second["notes"]), second)
        for name in planned:
            self.assertNotIn(victim, self.osts_of(name))

    def test_explain_diff_expire(self):
        first = self.report(["sh", "-c", WRITE], "--app", "told")
        name = str(self.place / "out.3")
        told = json.loads(self.iez("plan", "explain", name, "--json").stdout)
        self.assertAlmostEqual(told["ost_cost_before"], first["ost_cost"])  # one truth: what the run's line says
        shown = self.iez("plan", "explain", name).stdout
        self.assertIn(f'OSTCost {first["ost_cost"]:.3f} in the run before, {told["ost_cost_after"]:.3f} with the plan', shown)
        self.assertLessEqual(max(map(len, shown.splitlines())), 80, shown)
        self.assertEqual((told["application"], told["planner"], told["state"]), ("told", "local", "planned"))
        self.assertEqual(told["layouts"][0]["osts"], self.plan("told")[name]["osts"])
        self.assertIn("usable OSTs", told["reason"])
        self.assertIn("policy phases", self.iez("plan", "explain", name).stdout)
        osts = [str(ost) for ost in self.osts_of(name)]
        told_now = self.iez("plan", "explain", name).stdout
        self.assertEqual(told["follows"], self.osts_of(name) == told["layouts"][0]["osts"])
        self.assertEqual("not by this plan" in told_now, not told["follows"], (osts, told_now))
        (self.place / "out.3").unlink()
        self.assertIsNone(json.loads(self.iez("plan", "explain", name, "--json").stdout)["follows"])
        others = [ost for ost in range(8) if ost not in told["layouts"][0]["osts"]]
        self.assertTrue(any(run([IEZ, "layout", "set", "--osts", ost, name], check=False).returncode == 0 for ost in others))
        self.assertFalse(json.loads(self.iez("plan", "explain", name, "--json").stdout)["follows"])
        self.assertIn("1 stripe on OST", self.iez("plan", "explain", name).stdout)
        self.assertIn("not by this plan", self.iez("plan", "explain", name).stdout)
        self.assertEqual(self.iez("plan", "explain", "/nowhere", check=False).returncode, 1)
        self.empty()
        second = self.report(["sh", "-c", WRITE], "--app", "told")
        self.assertEqual(second["placed"], 6, second)
        self.assertAlmostEqual(second["ost_cost"], told["ost_cost_after"])
        self.assertTrue(json.loads(self.iez("plan", "explain", name, "--json").stdout)["follows"])
        self.assertNotIn("not by this plan", self.iez("plan", "explain", name).stdout)
        self.assertEqual(self.iez("plan", "show", "tol").stdout, self.iez("plan", "show", "told").stdout)
        self.assertEqual(self.iez("app", "show", "to").stdout, self.iez("app", "show", "told").stdout)
        with tempfile.TemporaryDirectory() as folder:  # beside a program of that name
            (pathlib.Path(folder) / "told").write_text("no plan", encoding="ascii")
            beside = run([IEZ, "plan", "show", "told"], env=self.environment, cwd=folder).stdout
            self.assertEqual(beside, self.iez("plan", "show", "told").stdout)
        diff = json.loads(self.iez("plan", "diff", "told", "--json").stdout)
        self.assertEqual(diff["same"] + len(diff["changes"]), 6)
        plan = self.state / "iez/plans/told.iezplan"
        same = json.loads(self.iez("plan", "diff", plan, plan, "--json").stdout)
        self.assertEqual(same["changes"], [])
        self.assertIn("nothing to expire", self.iez("plan", "expire", "--older-than", "1h").stdout)
        gone = json.loads(self.iez("plan", "expire", "told", "--json").stdout)
        self.assertEqual(gone["applications"], ["told"])
        self.assertFalse(plan.exists())
        self.assertEqual(self.report(["sh", "-c", WRITE], "--app", "told")["mode"], "learn")
        self.assertEqual(self.iez("plan", "expire", check=False).returncode, 2)

    def test_written_over_in_place_is_not_created(self):
        over = ["sh", "-c", WRITE.replace("bs=64k", "conv=notrunc bs=64k")]
        self.report(over, "--app", "over")
        self.report(over, "--app", "over")  # planned, and all of them are there
        told = json.loads(self.iez("plan", "explain", "--json", self.place / "out.1").stdout)  # not by the plan that there was
        self.assertEqual(told["state"], "unplanned", told)
        self.assertIn("the program writes over it in place", told["reason"])

    def test_plan_file_is_made_anew(self):
        self.report(["sh", "-c", WRITE], "--app", "anew")
        plan = self.state / "iez/plans/anew.iezplan"
        for damage in (plan.unlink, lambda: plan.write_bytes(b"no plan")):
            damage()
            self.empty()
            self.assertEqual(self.report(["sh", "-c", WRITE], "--app", "anew")["mode"], "place")
            self.iez("plan", "check", plan)

    def test_flags(self):
        told = json.loads(self.iez_run(["mpirun", "-n", "8", "./prog", "7"], "--dry-run", "--json").stdout)
        self.assertEqual((told["mode"], told["program"]), ("learn", "./prog"))
        self.assertTrue(told["application"].startswith("prog-"))
        self.assertFalse((self.state / "iez").exists())  # it changed nothing
        self.assertEqual(self.report(["sh", "-c", WRITE], "--app", "f", "--no-place")["next_plan"], None)
        self.empty()
        self.assertTrue(self.report(["sh", "-c", WRITE], "--app", "f")["next_plan"])
        self.assertEqual(self.report(["sh", "-c", WRITE], "--app", "f", "--learn")["mode"], "learn")
        kept = self.state / "kept.ieztrace"
        self.report(["sh", "-c", WRITE], "--app", "f", "--keep-trace", kept)
        self.assertIn("out.1", self.iez("trace", "show", kept).stdout)
        self.assertEqual(self.iez_run(["true"], "--app", "a/b", check=False).returncode, 2)
        quiet = self.iez_run(["sh", "-c", "echo data; echo talk >&2; " + WRITE], "--app", "f", "-q")
        self.assertEqual((quiet.stdout, quiet.stderr), ("data\n", "talk\n"))

    def test_wrong_options_are_told_before_the_program_starts(self):
        text = self.state / "text"
        text.write_text("no plan\n", encoding="utf-8")
        for flags, said in (
                (("--plan", "typo"), "--plan typo: "),
                (("--plan", text), f"--plan {text}: "),
                (("--coordinator", "htp:/x"), "--coordinator 'htp:/x': expected http://HOST:PORT or https://HOST:PORT"),
                (("--store", "mysql://"), "--store mysql://: "),
                (("--root", "/none"), "--root /none: no such directory or file"),
                (("--under", text), f"--under {text}: expected a directory"),
                (("--trace-dir", text), f"--trace-dir {text}: expected a directory"),
                (("--keep-trace", "/none/x"), "--keep-trace /none/x: its directory is not there"),
                (("--keep-trace", "/tmp"), "--keep-trace /tmp: a directory")):
            for more in ((), ("--dry-run",)):
                result = self.iez_run(["touch", "ran"], *flags, *more, check=False)
                self.assertEqual((result.returncode, result.stdout), (2, ""), (flags, result.stderr))
                self.assertIn(said, result.stderr)
                self.assertFalse((self.place / "ran").exists(), flags)

    def test_a_lab_is_known_by_its_mount(self):
        """Neither `iez lab exec` nor --root."""
        for mode in ("learn", "place"):
            told = json.loads(run([IEZ, "run", "--json", "--app", "mount", "--", "sh", "-c", WRITE], cwd=self.place,
                                  env=self.environment).stderr.splitlines()[-1])
            self.assertEqual((told["mode"], told["notes"], bool(told["next_plan"])), (mode, [], True), told)
            self.empty()

    def test_how_even_the_osts_were_is_told(self):
        """Six files of 1, 2, ... 6 parts on eight OSTs."""
        self.report(["sh", "-c", WRITE], "--app", "even")
        self.empty()
        told = self.report(["sh", "-c", WRITE], "--app", "even")
        loads = [0.0] * 8
        for i in range(1, 7):
            osts = self.osts_of(self.place / f"out.{i}")
            for ost in osts:
                loads[ost] += i / len(osts)
        self.assertAlmostEqual(told["ost_cost"], max(loads) * 8 / 21, places=6)
        self.empty()
        self.assertRegex(self.iez_run(["sh", "-c", WRITE], "--app", "even").stderr, r"; OSTCost \d\.\d{3}\n")

    def test_what_was_not_seen_is_told(self):
        """A shell starts a static program and one that is not."""
        program, source = self.state / "static", self.state / "static.c"
        source.write_text("""#include <fcntl.h>
#include <unistd.h>
static char data[1 << 20];
int main(int argc, char** argv) {
  int fd = open(argv[1], O_CREAT | O_WRONLY | O_TRUNC, 0644);
  for (int i = 0; i < 24; ++i) if (write(fd, data, sizeof data) != sizeof data) return 1;
  return fsync(fd) != 0 || argc != 2;
}
""", encoding="utf-8")
        run(["gcc", "-static", source, "-o", program])
        time.sleep(3)  # the counters of a lab are late
        seen = "dd if=/dev/zero of=seen bs=1M count=8 conv=fsync status=none; sleep 4"
        told = self.report(["sh", "-c", f"sleep 6; {program} unseen; {seen}"], "--app", "unseen")
        self.assertEqual(told["files"], 1, told)
        self.assertRegex(" ".join(told["notes"]), r"this node wrote [34]\d\.\d MB meanwhile, of which 8\.39 MB \(2\d %\) are in the trace")
        told = self.report(["sh", "-c", f"sleep 6; {seen}"], "--app", "seen")
        self.assertEqual(told["notes"], [])

    def test_the_library_of_the_mpi_is_put_in(self):
        """Behind wrappers, and where only mpi4py tells which MPI it is."""
        def preloaded(*command, **variables):
            words = [IEZ, "run", "--dry-run", "--json", "--under", self.place, "--", *command]
            told = json.loads(run(words, env={**self.environment, **variables}, cwd=self.state).stdout)
            [value] = [one["value"] for one in told["environment"] if one["name"] == "LD_PRELOAD"]
            return [pathlib.Path(path).name for path in value.split(":")]

        program = self.mpi_program("openmpi")[3]
        openmpi = ["libiez.so", "libiez-mpi-openmpi.so"]
        if not any(pathlib.Path(IEZ).parents[2].rglob("libiez-mpi-openmpi.so")):
            self.skipTest("iez was built without Open MPI")
        for wrapper in ((), ("nice",), ("nice", "-n", "5"), ("env", "A=b"), ("timeout", "60"), ("numactl", "--all"), ("nice", "env", "-u", "X")):
            self.assertEqual(preloaded(*wrapper, "mpirun.openmpi", "-n", "2", "sh", "-c", "true"), openmpi, wrapper)
            self.assertEqual(preloaded(*wrapper, "srun", "-n", "2", program), openmpi, wrapper)
        tools = self.state / "tools"
        tools.mkdir()
        (tools / "srun").write_text("#!/bin/sh\n", encoding="utf-8")
        (tools / "srun").chmod(0o755)
        (self.state / "script.py").write_text("from mpi4py import MPI\n", encoding="utf-8")
        path = f"{tools}:{self.environment['PATH']}"
        site = self.state / "venv/lib/python3.11/site-packages/mpi4py"
        site.mkdir(parents=True)
        shutil.copy(program, site / "MPI.cpython-311-x86_64-linux-gnu.so")  # it needs libmpi.so, as that does
        for variables in ({"VIRTUAL_ENV": str(self.state / "venv")}, {"PYTHONPATH": f"/none:{site.parent}"}):
            self.assertEqual(preloaded("srun", "-n", "2", "python3", "script.py", PATH=path, **variables), openmpi)
            self.assertEqual(preloaded("nice", "srun", "-n", "2", "python3", "-m", "script", PATH=path, **variables), openmpi)
            self.assertEqual(preloaded("python3", "script.py", PATH=path, **variables), ["libiez.so"])

    def test_a_command_that_cannot_be_started_is_no_application(self):
        self.assertEqual(self.iez_run(["./nonexist"], "--app", "junk", check=False).returncode, 127)
        self.assertEqual(json.loads(self.iez("app", "list", "--json").stdout)["applications"], [])

    def test_what_lives_on_another_mount_is_left_alone(self):
        """Two nodes with one home directory whose locks are local to each: the one run leaves the other its trace."""
        self.addCleanup(shutil.rmtree, self.mount / "traces", True)
        waits = ["sh", "-c", "dd if=/dev/zero of=big bs=64k count=4 status=none; echo begun; read -r go"]
        words = self.exec_words(waits, "--json", "--app", "long", "--trace-dir", self.mount / "traces")
        with subprocess.Popen(list(map(str, words)), env=self.environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as long_one:
            self.assertEqual(long_one.stdout.readline(), "begun\n")
            other = self.report(["sh", "-c", "echo x >second"], "--app", "other", "--trace-dir", self.lab / "mnt/client1/traces")
            self.assertEqual((other["recorded"], other["notes"]), (True, []))
            _, said = long_one.communicate("go\n", timeout=LIMIT)
        told = json.loads(said.splitlines()[-1])
        self.assertEqual((told["recorded"], told["files"], told["bytes_written"]), (True, 1, 4 * 65536), told)


class Choice(RunCase):
    """When there is a plan, and when Lustre's own choice is as good."""

    def setUp(self):
        super().setUp()
        for name in ("IEZ_PLACE_WHEN", "IEZ_PLACE_LEAST_FILE"):
            del self.environment[name]

    UNEQUAL = [6, 1, 5, 1, 4, 1, 3, 1, 2, 2, 1, 1, 6, 1, 5, 1]  # MiB

    @staticmethod
    def writing(*mebibytes):
        return ["sh", "-c", "n=0; for m in " + " ".join(map(str, mebibytes)) +
                "; do n=$((n + 1)); dd if=/dev/zero of=out.$n bs=1M count=$m status=none & done; wait"]

    @staticmethod
    def slowly(command):
        """The same, but each file is written for long enough to be timed."""
        return [*command[:2], command[2].replace("dd if=/dev/zero of=out.$n bs=1M count=$m status=none",
                                                 "{ head -c ${m}M /dev/zero; sleep 0.3; head -c 4096 /dev/zero; } | dd of=out.$n bs=64k status=none")]

    def test_the_default_is_as_good(self):
        command = self.slowly(self.writing(*[2] * 8))  # at the same time also where the machine is busy
        for _ in range(3):
            told = self.report(command, "--app", "equal")  # one file an OST
            self.assertEqual((told["mode"], told["next_plan"], told["verdict"]), ("learn", None, "Lustre's default is as good"), told)
            self.empty()
        said = self.iez_run(command, "--app", "equal").stderr
        self.assertIn("next run: not placed: Lustre's default is as good", said)
        self.assertIn("no plan: Lustre's default is as good", self.iez("app", "show", "equal").stdout)

    def test_a_plan_that_waits_is_space_and_not_traffic(self):
        self.assertTrue(self.report(self.slowly(self.writing(*self.UNEQUAL)), "--app", "waiting")["next_plan"])
        self.empty()
        told = self.report(self.writing(*[2] * 8), "--app", "equal")
        self.assertEqual((told["next_plan"], told["verdict"]), (None, "Lustre's default is as good"), told)

    def test_unequal_sizes_are_placed(self):
        command = self.slowly(self.writing(*self.UNEQUAL))
        first = self.report(command, "--app", "unequal")
        self.assertTrue(first["next_plan"], first)
        self.assertIn("of the default's time", first["verdict"])
        self.empty()
        second = self.report(command, "--app", "unequal")
        self.assertEqual((second["mode"], second["created"], second["predicted"], second["placed"]), ("place", 16, 16, 16), second)
        self.assertIsNotNone(second["write_ratio"], second)
        self.assertRegex(second["gain"], r"^write (\d+\.\d\dx the default's rate|as fast as by default|not clear yet) ?\(")
        # What was measured stands beside what is promised, wherever it is told.
        if second["next_plan"]:
            self.assertRegex(second["verdict"], r"^forecast \d+ % of the default's time, measured \d+ % over 2 runs")
        told = json.loads(self.iez("plan", "explain", self.place / "out.1", "--json").stdout)
        self.assertEqual(told["measured"], second["gain"])
        self.assertRegex(told["notes"][0], r"^forecast \d+ % of the default's time, measured \d+ % over 2 runs")
        shown = json.loads(self.iez("app", "show", "unequal", "--json").stdout)
        history = shown["history"]
        for phase in shown["runs"][0]["phases"]:
            self.assertEqual(phase["kind"], "write")
            self.assertTrue(1 <= phase["osts"] <= 8, phase)
        self.assertEqual((history["whole"]["by_default"], history["whole"]["placed"]), (1, 1), history)

    def test_why_a_file_has_its_stripes(self):
        """One sentence each: of those with a plan, and of those that have none."""
        own = self.place / "own"
        own.mkdir()
        os.setxattr(own, "lustre.lov", struct.pack("<IIQQIHH", 0x0BD10BD0, 1, 0, 0, 1 << 20, 3, 0xFFFF))
        command = self.slowly(self.writing(*self.UNEQUAL))
        command[-1] += "; dd if=/dev/zero of=small bs=4k count=3 status=none; dd if=/dev/zero of=own/f bs=1M count=3 status=none"
        first = self.report(command, "--app", "why")
        self.assertTrue(first["next_plan"], first)

        def why(name):
            text = self.iez("plan", "explain", self.place / name).stdout
            self.assertLessEqual(max(map(len, text.splitlines())), 80, text)
            return json.loads(self.iez("plan", "explain", self.place / name, "--json").stdout)

        planned = why("out.1")
        self.assertRegex(planned["reason"], r"^1 of 8 usable OSTs: one process writes it, and \d+ files of its phase share them$")
        small = why("small")
        self.assertEqual(small["reason"], "1 stripe by Lustre: its 12.0 KiB are less than place.least_file (1.00 MiB), and a layout would gain nothing")
        self.assertEqual((small["state"], small["plan"], small["layouts"], small["application"]), ("unplanned", None, [], "why"))
        self.assertRegex(small["now"], r"^1 stripe on OST \d$")
        self.assertEqual(why("own/f")["reason"], "3 stripes: its directory has a layout of its own, which is kept")
        shown = self.iez("plan", "show", "why")
        self.assertIn("why  16 files: 1 of 8 usable OSTs: one process writes it", shown.stdout)
        reasons = json.loads(self.iez("plan", "show", "why", "--json").stdout)["reasons"]
        self.assertEqual(sum(one["files"] for one in reasons), 16)

    def test_why_a_lone_file_has_its_stripes(self):
        lone = ["sh", "-c", "dd if=/dev/zero of=lone bs=1M count=120 status=none"]
        self.report(lone, "--app", "lone")
        told = json.loads(self.iez("plan", "explain", self.place / "lone", "--json").stdout)
        self.assertRegex(told["reason"], r"^(all )?\d( of 8)? usable OSTs: it is the only large file of its phase; [\d.]+ MiB on each")
        self.assertAlmostEqual(told["ost_cost_before"], 8)
        self.assertLess(told["ost_cost_after"], 8)
        self.report(["sh", "-c", "dd if=/dev/zero of=even bs=1M count=1 status=none"], "--app", "even", "--no-place")
        told = json.loads(self.iez("plan", "explain", self.place / "even", "--json").stdout)
        self.assertEqual(told["reason"], "1 stripe by Lustre's default: asked not to place")

    def test_the_default_of_the_site_is_a_template(self):
        """Directories answer with the root's default, as Lustre's do: its stripes are kept, and OSTs chosen. A directory's own is respected."""
        layout = struct.pack("<IIQQIHH", 0x0BD10BD0, 1, 0, 0, 1 << 20, 2, 0xFFFF)
        os.setxattr(self.mount, "lustre.lov", layout)
        self.addCleanup(os.removexattr, self.mount, "lustre.lov")
        self.assertEqual(os.getxattr(self.place, "lustre.lov"), os.getxattr(self.mount, "lustre.lov"))
        own = self.place / "own"
        own.mkdir()
        os.setxattr(own, "lustre.lov", struct.pack("<IIQQIHH", 0x0BD10BD0, 1, 0, 0, 1 << 20, 3, 0xFFFF))
        self.addCleanup(shutil.rmtree, own, True)
        self.environment["IEZ_PLACE_WHEN"] = "always"
        write = ["sh", "-c", "for n in 1 2 3 own/4; do dd if=/dev/zero of=out.$n bs=1M count=4 status=none 2>/dev/null || "
                 "dd if=/dev/zero of=own/4 bs=1M count=4 status=none; done"]
        self.report(write, "--app", "template")
        for name in ("out.1", "out.2", "out.3", "own/4"):
            (self.place / name).unlink()
        second = self.report(write, "--app", "template")
        self.assertEqual((second["mode"], second["placed"], second["respected"]), ("place", 3, 0), second)
        self.assertEqual([len(self.osts_of(self.place / f"out.{n}")) for n in (1, 2, 3)], [2, 2, 2])
        self.assertEqual(len(self.osts_of(own / "4")), 3)
        self.environment["IEZ_PLACE_LAYOUT"] = "free"
        for name in ("out.1", "out.2", "out.3", "own/4"):
            (self.place / name).unlink()
        self.report(write, "--app", "free")
        for name in ("out.1", "out.2", "out.3", "own/4"):
            (self.place / name).unlink()
        self.report(write, "--app", "free")
        self.assertNotEqual([len(self.osts_of(self.place / f"out.{n}")) for n in (1, 2, 3)], [2, 2, 2])

    def test_a_log_that_is_off_does_not_give_up_the_plan(self):
        self.environment["IEZ_PLACE_WHEN"] = "always"
        first, second = (["sh", "-c", f"{self.writing(*range(1, 7))[2]}; head -c {size} /dev/zero > log"] for size in (1000, 10))
        self.report(first, "--app", "logging")
        self.empty()
        told = self.report(second, "--app", "logging")
        self.assertEqual((told["placed"], told["accuracy"], told["given_up"], bool(told["next_plan"])), (6, 100.0, False, True), told)

    def test_small_files_are_left_to_lustre(self):
        told = self.report(["sh", "-c", "for i in $(seq 40); do head -c 4096 /dev/zero > small.$i; done"], "--app", "small")
        self.assertEqual((told["next_plan"], told["files"]), (None, 40), told)
        self.assertIn("40 below 1.05 MB", told["verdict"])

    def test_written_over_in_place_and_replaced(self):
        self.environment["IEZ_PLACE_WHEN"] = "always"  # runs as short as these differ by chance
        over = self.writing(*self.UNEQUAL)
        over[2] = over[2].replace("bs=1M", "conv=notrunc bs=1M")
        self.report(over, "--app", "over")
        second = self.report(over, "--app", "over")  # planned, but all of them are there
        self.assertEqual((second["placed"], second["existing"], second["next_plan"]), (0, 16, None), second)
        self.assertIn("iez run --replace", second["verdict"])
        third = self.report(over, "--app", "over", "--replace")
        self.assertEqual((third["mode"], third["created"], third["placed"]), ("place", 16, 16), third)
        self.assertEqual(sorted(name.name for name in self.place.iterdir()), sorted(f"out.{i}" for i in range(1, 17)))
        failing = [*over[:2], over[2] + "; rm out.2; exit 3"]
        failed = self.report(failing, "--app", "over", "--replace", check=False)
        self.assertEqual(failed["mode"], "place", failed)
        self.assertEqual(sorted(name.name for name in self.place.iterdir() if not name.name.startswith(".")),
                         sorted(f"out.{i}" for i in range(1, 17)))  # what the run did not leave is put back
        self.assertTrue(any("old contents are kept in" in note for note in failed["notes"]), failed)

    def test_a_command_that_cannot_be_started_leaves_what_was_moved_aside(self):
        self.environment["IEZ_PLACE_WHEN"] = "always"
        over = self.writing(3, 1, 2)
        over[2] = over[2].replace("bs=1M", "conv=notrunc bs=1M")
        self.report(over, "--app", "start")
        self.report(over, "--app", "start")
        before = {name.name: name.stat().st_ino for name in self.place.iterdir()}
        for command, status in (("./nothere", 127), ("/etc/passwd", 126)):
            ended = self.iez_run([command], "--app", "start", "--replace", check=False)
            self.assertEqual(ended.returncode, status, ended.stderr)
            self.assertIn("3 files moved aside", ended.stderr)
            self.assertEqual({name.name: name.stat().st_ino for name in self.place.iterdir()}, before)
        self.nothing_left()
        told = self.report(["./nothere"], "--app", "start", "--replace", check=False)
        self.assertEqual((told["recorded"], told["mode"]), (False, "place"), told)

    def replaced(self, command, application, **options):
        """With --replace: the report, and what it says of files that were moved or not."""
        told = self.report(command, "--app", application, "--replace", **options)
        return told, [note for note in told["notes"] if "moved aside" in note]

    def test_only_what_may_be_replaced_is(self):
        self.environment["IEZ_PLACE_WHEN"] = "always"
        writing = ["sh", "-c", "umask 022; for i in 1 2 3 4 5; do dd if=/dev/zero of=out.$i bs=1M count=$i status=none conv=notrunc || :; done"]
        self.report(writing, "--app", "may")
        self.report(writing, "--app", "may")
        os.chmod(self.place / "out.1", 0o600)
        os.chmod(self.place / "out.2", 0o444)
        os.link(self.place / "out.3", self.place / "other")
        (self.place / "out.4").rename(self.place / "real.4")
        (self.place / "out.4").symlink_to("real.4")
        dry = json.loads(self.iez_run(writing, "--app", "may", "--replace", "--dry-run", "--json").stdout)
        self.assertIn(f"1 file would be moved aside if there is a plan for new ones: {self.place}/out.5", dry["notes"])
        inodes = {name: os.lstat(self.place / name).st_ino for name in os.listdir(self.place)}
        told, notes = self.replaced(writing, "may")
        self.assertEqual(notes[0], f"1 file moved aside: {self.place}/out.5", told)
        for why in ("out.1 (its mode is 0600, that of a new file 0644)", "out.2 (its mode is 0444", "out.3 (it has 2 names)", "1 more"):
            self.assertIn(why, notes[1])
        self.assertFalse(any("planned anew" in note for note in told["notes"]), told)
        self.assertEqual({name for name, inode in inodes.items() if os.lstat(self.place / name).st_ino != inode}, {"out.5"})
        self.assertEqual(os.stat(self.place / "out.1").st_mode & 0o777, 0o600)
        self.assertNotIn("--replace", told["verdict"] or "")

    def test_what_a_run_read_is_never_replaced(self):
        """A program that goes on from its last state."""
        self.environment["IEZ_PLACE_WHEN"] = "always"
        state = ["sh", "-c", "for i in 1 2 3; do test -e s.$i && cat s.$i > /dev/null; dd if=/dev/zero of=s.$i bs=1M count=$i conv=notrunc status=none; done"]
        self.report(state, "--app", "state")
        self.assertEqual(self.report(state, "--app", "state")["existing"], 3)
        kept = {name: os.lstat(self.place / name).st_ino for name in os.listdir(self.place)}
        told, notes = self.replaced(state, "state")
        self.assertEqual({name: os.lstat(self.place / name).st_ino for name in os.listdir(self.place)}, kept, told)
        self.assertIn("3 read and written over in place", told["verdict"])
        self.assertNotIn("--replace", told["verdict"])
        self.assertEqual(len(notes), 1, told)
        self.assertIn("no file is moved aside", notes[0])
        # Nor when the last run began from nothing.
        for name in kept:
            (self.place / name).unlink()
        self.report(state, "--app", "state")
        kept = {name: os.lstat(self.place / name).st_ino for name in os.listdir(self.place)}
        told, notes = self.replaced(state, "state")
        self.assertEqual({name: os.lstat(self.place / name).st_ino for name in os.listdir(self.place)}, kept, told)
        self.assertIn("s.1 (a run read it)", notes[0])

    def test_what_no_run_wrote_over_is_never_replaced(self):
        """The first run made it: whether the next one goes on from it, nobody knows."""
        self.environment["IEZ_PLACE_WHEN"] = "always"
        writing = self.writing(1, 2, 3)
        self.report(writing, "--app", "once")
        kept = {name: os.lstat(self.place / name).st_ino for name in os.listdir(self.place)}
        dry = json.loads(self.iez_run(writing, "--app", "once", "--replace", "--dry-run", "--json").stdout)
        self.assertIn("no file would be moved aside", dry["notes"])
        told, notes = self.replaced(writing, "once")
        self.assertEqual({name: os.lstat(self.place / name).st_ino for name in os.listdir(self.place)}, kept, told)
        self.assertIn("(no run is known that wrote over it)", notes[0])
        told, notes = self.replaced(writing, "once")  # now one is known
        self.assertEqual((told["placed"], notes[0].split(":")[0]), (3, "3 files moved aside"), told)

    def test_what_a_run_mapped_is_never_replaced(self):
        """A program that maps its last state and writes over it by calls. The lab keeps no times of access, so it sets them itself."""
        self.environment["IEZ_PLACE_WHEN"] = "always"
        program = ("import mmap, os, time\n"
                   "for i in (1, 2, 3):\n"
                   "    fd = os.open(f's.{i}', os.O_RDWR | os.O_CREAT, 0o644)\n"
                   "    size = os.fstat(fd).st_size\n"
                   "    state = bytes(mmap.mmap(fd, size, mmap.MAP_PRIVATE, mmap.PROT_READ)) if size else bytes(i << 20)\n"
                   "    os.utime(fd, ns=(time.time_ns(), os.fstat(fd).st_mtime_ns))\n"
                   "    os.pwrite(fd, bytes([(state[0] + 1) % 256]) + state[1:], 0)\n"
                   "    os.close(fd)\n")
        command = [sys.executable, "-c", program]
        self.report(command, "--app", "mapped")
        self.assertEqual(self.report(command, "--app", "mapped")["existing"], 3)
        self.replaced(command, "mapped")
        self.assertEqual({name.read_bytes()[0] for name in self.place.iterdir()}, {3})

    def test_cut_and_written_over(self):
        """O_TRUNC of files that are there creates none, in whichever run."""
        self.environment["IEZ_PLACE_WHEN"] = "always"
        writing = ["sh", "-c", "for i in 1 2 3 4 5 6; do dd if=/dev/zero of=out.$i bs=1M count=$i status=none; done"]
        first = self.report(writing, "--app", "cut")
        self.assertEqual((first["existing"], bool(first["next_plan"])), (0, True), first)
        for number in range(2, 6):
            told = self.report(writing, "--app", "cut")
            self.assertEqual((told["created"], told["placed"], told["existing"], told["next_plan"]), (0, 0, 6, None), (number, told))
            self.assertIn("6 written over in place", told["verdict"])

    def test_a_count_that_grows_is_learnt_again(self):
        """Twice 5 files, then 20, six times: traced again, then placed."""
        write = ["sh", "-c", "for i in $(seq $0); do dd if=/dev/zero of=ckpt.$i bs=1M count=$((1 + i % 3)) status=none & done; wait"]
        modes = []
        self.environment["IEZ_PLACE_WHEN"] = "always"
        for count in (5, 5, 20, 20, 20, 20):
            told = self.report([*write, count], "--app", "growing")
            modes.append((told["mode"], told["given_up"], told["placed"]))
            self.empty()
        self.assertEqual(modes, [("learn", False, 0), ("place", False, 5), ("place", True, 5), ("learn", False, 0),
                                 ("place", False, 20), ("place", False, 20)])

    def file_per_rank(self):
        """A program of 2 MiB a rank. With an argument it says that it has begun, and waits until that file is there."""
        if not shutil.which("mpirun.openmpi") or not shutil.which("mpicc.openmpi"):
            self.skipTest("Open MPI is not here")
        program = self.state / "file_per_rank"
        source = self.state / "file_per_rank.c"
        source.write_text("""#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
static char data[1 << 20];
int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 1) {
    if (rank == 0) puts("begun"), fflush(stdout);
    while (access(argv[1], F_OK) != 0) usleep(10000);
  }
  char name[64];
  snprintf(name, sizeof name, "rank.%d", rank);
  int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0644);
  for (int i = 0; i < 2; ++i) if (write(fd, data, sizeof data) != sizeof data) return 1;
  close(fd);
  MPI_Finalize();
  return 0;
}
""", encoding="utf-8")
        run(["mpicc.openmpi", "-O1", source, "-o", program])
        return program

    def test_any_history_is_learnt(self):
        """Other counts, names, sizes and ranks, again and again: the third run at the latest goes by a plan of its own."""
        seed = int(os.environ.get("IEZ_SEED", random.randrange(1 << 30)))
        generator = random.Random(seed)
        self.environment.update(IEZ_PLACE_WHEN="always", IEZ_PLACE_LEAST_FILE="1")
        program = self.file_per_rank()
        for episode in range(12 if LONG else 4):
            count, name, size = generator.randint(1, 24), generator.choice("abc"), generator.randint(1, 12)
            command = ["sh", "-c", f"for i in $(seq {count}); do dd if=/dev/zero of={name}.$i bs=64k count=$(({size} + i % 3)) status=none & done; wait"]
            if generator.random() < 0.3:
                count = generator.choice((1, 2, 5, 8))
                command = ["mpirun.openmpi", "-n", count, program]
            history = []
            for _ in range(3):
                history.append(self.report(command, "--app", "any"))
                self.empty()
            with self.subTest(seed=seed, episode=episode, command=command):
                last = history[-1]
                self.assertEqual((last["mode"], last["created"], last["predicted"], last["placed"], last["given_up"]),
                                 ("place", count, count, count, False), history)

    def test_another_number_of_ranks_is_planned_before_the_run(self):
        program = self.file_per_rank()
        self.environment["IEZ_PLACE_WHEN"] = "always"
        self.report(["mpirun.openmpi", "-n", "3", program], "--app", "ranks")
        self.empty()
        more = self.report(["mpirun.openmpi", "-n", "6", program], "--app", "ranks")
        self.assertEqual((more["mode"], more["created"], more["predicted"], more["placed"]), ("place", 6, 6, 6), more)
        self.assertTrue(any("planned anew: 6 ranks instead of 3" in note for note in more["notes"]), more)

    def test_a_run_is_judged_by_the_prediction_that_it_began_with(self):
        """6 ranks go on while 2 of the same application come and go."""
        program = self.file_per_rank()
        self.environment["IEZ_PLACE_WHEN"] = "always"
        for flags in ([], ["--learn"]):
            self.report(["mpirun.openmpi", "-n", "6", program], "--app", "two")
            self.empty()
            go = self.state / f"go{len(flags)}"
            words = self.exec_words(["mpirun.openmpi", "-n", "6", program, go], "--json", "--app", "two", *flags)
            with subprocess.Popen(list(map(str, words)), env=self.environment, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as long_one:
                self.assertEqual(long_one.stdout.readline(), "begun\n")
                few = self.report(["mpirun.openmpi", "-n", "2", program], "--app", "two")
                self.empty()
                go.touch()
                _, said = long_one.communicate(timeout=LIMIT)
            many = json.loads(said.splitlines()[-1])
            self.assertEqual((few["mode"], few["created"], few["predicted"], few["given_up"]), ("place", 2, 2, False), few)
            self.assertEqual((many["created"], many["predicted"], many["given_up"]), (6, 6, False), many)
            self.assertEqual(many["mode"], "learn" if flags else "place")
            self.assertTrue(many["next_plan"], many)
            self.empty()

    def test_nobody_waits_long_for_who_plans(self):
        """Another run of the application plans, and does not come to an end."""
        self.environment["IEZ_PLACE_WHEN"] = "always"
        command = ["sh", "-c", self.writing(3, 1, 2)[2] + "; exit $0"]

        def within(bound, status, *flags):
            began = time.monotonic()
            told = self.report([*command, status], "--app", "waiting", *flags, check=False)
            self.assertLess(time.monotonic() - began, bound)
            self.empty()
            return told

        (self.state / "iez/plans").mkdir(parents=True)
        lock = os.open(self.state / "iez/plans/waiting.lock", os.O_CREAT | os.O_RDWR, 0o600)
        self.addCleanup(os.close, lock)
        fcntl.flock(lock, fcntl.LOCK_EX)
        first = within(20, 0)
        self.assertEqual((first["mode"], first["recorded"], first["next_plan"]), ("learn", True, None), first)
        self.assertTrue(any("another run of this application is planning" in note for note in first["notes"]), first)
        fcntl.flock(lock, fcntl.LOCK_UN)
        self.assertTrue(within(20, 0)["next_plan"])
        fcntl.flock(lock, fcntl.LOCK_EX)
        for flags in ([], ["--replace"]):
            told = within(20, 0, *flags)
            self.assertEqual((told["mode"], told["placed"], told["recorded"], told["given_up"]), ("place", 3, True, False), told)
            self.assertFalse(any("has planned nothing" in note for note in told["notes"]), told)
        (self.state / "iez/plans/waiting.iezplan").unlink()  # the store has it
        self.assertEqual(within(20, 0)["placed"], 3)
        self.assertEqual(self.iez_run([*command, 7], "--app", "waiting", check=False).returncode, 7)


class SlowTarget(RunCase):
    """An OST that is far slower than the others: seen in a run, left out of the next plans, tried again later, and used again once it is mended."""

    SLOW = 3
    OSTS = 6

    @classmethod
    def lab_options(cls):
        return ["--oss", "2", "--osts", str(cls.OSTS // 2), "--ost-size", "128M", "--rate", "40MB/s"]

    def setUp(self):
        super().setUp()
        for name in ("IEZ_PLACE_WHEN", "IEZ_PLACE_LEAST_FILE"):
            del self.environment[name]
        self.addCleanup(run, [IEZ, "lab", "fault", "--dir", self.lab, "none"], check=False)

    def fault(self, *words):
        run([IEZ, "lab", "fault", "--dir", self.lab, *words])

    def write(self, application="slow", files=OSTS):
        """A file for each OST, at the same time and to the disk; what iez says, and where they lie."""
        self.empty()
        command = f"for n in $(seq {files}); do dd if=/dev/zero of=out.$n bs=1M count=4 conv=fsync status=none & done; wait"
        told = self.report(["sh", "-c", command], "--app", application)
        return told, sorted(ost for n in range(1, files + 1) for ost in self.osts_of(self.place / f"out.{n}"))

    def seen(self):
        """Of the slow OST, by the newest run."""
        with sqlite3.connect(self.state / "iez/iez.db") as database:
            (text,) = database.execute("SELECT targets FROM runs ORDER BY id DESC LIMIT 1").fetchone()
        words = (text.decode() if isinstance(text, bytes) else text).split()
        self.assertEqual(words[0], "loop")
        return {int(word.split(":")[0]): float(word.split(":")[1]) for word in words[1:]}.get(self.SLOW)

    def test_left_and_used_again(self):
        self.fault("slow", f"ost{self.SLOW}", "0.02")
        told, osts = self.write()
        self.assertEqual((told["mode"], osts), ("learn", list(range(self.OSTS))), told)
        self.assertLess(self.seen(), 0.25)
        self.assertTrue(told["next_plan"], told)
        self.assertRegex(told["verdict"], rf"OST {self.SLOW} works at about 0\.\d\d of the others' speed and gets less")
        explained = self.iez("plan", "explain", self.place / "out.1").stdout
        self.assertIn(f"OST {self.SLOW} works at about", explained)
        self.assertIn(f"OST {self.SLOW} works at about", self.iez("app", "show", "slow").stdout)
        for _ in range(2):
            told, osts = self.write()
            self.assertEqual((told["mode"], told["placed"]), ("place", self.OSTS), told)
            self.assertNotIn(self.SLOW, osts)
        # What one application has seen is known to the others.
        told, osts = self.write("other", 5)
        self.assertIn(f"OST {self.SLOW} works at about", told["verdict"])
        if self.SLOW in osts:  # seen once more, so that the runs without it begin anew
            self.write("other", 5)
        # Mended. It is not used before it is tried again: after some runs, and some time.
        self.fault("none", f"ost{self.SLOW}")
        told, osts = self.write()
        self.assertNotIn(self.SLOW, osts)
        for _ in range(12):
            self.assertTrue(told["next_plan"], told)
            told, osts = self.write()
            self.assertNotIn(self.SLOW, osts)
        with sqlite3.connect(self.state / "iez/iez.db") as database:
            database.execute("UPDATE runs SET started_ns = started_ns - 3600000000000, ended_ns = ended_ns - 3600000000000")
        told, osts = self.write()
        self.assertNotIn("works at", told["verdict"])
        told, osts = self.write()
        self.assertEqual(osts, list(range(self.OSTS)), told)
        self.assertGreaterEqual(self.seen(), 0.4)
        self.assertNotIn("works at", told["verdict"])

    def test_alike_changes_nothing(self):
        for _ in range(3):
            told, osts = self.write("alike")
            self.assertEqual((told["next_plan"], told["verdict"], osts), (None, "Lustre's default is as good", list(range(self.OSTS))), told)


class Endings(RunCase):
    def test_statuses(self):
        for status in (0, 1, 77, 255):
            self.assertEqual(self.iez_run(["sh", "-c", f"exit {status}"], check=False).returncode, status)
        self.assertEqual(self.iez_run(["/nowhere/prog"], check=False).returncode, 127)
        self.assertEqual(self.iez_run(["/etc/passwd"], check=False).returncode, 126)
        killed = self.iez_run(["sh", "-c", "kill -TERM $$"], check=False)
        self.assertEqual(killed.returncode, -signal.SIGTERM)

    def test_signals_are_passed_on(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            name = number.name[3:]
            script = f"trap 'echo got {name}; exit 5' {name}; echo ready; for i in $(seq 200); do sleep 0.05; done"
            process = subprocess.Popen(list(map(str, self.exec_words(["sh", "-c", script], "-q"))), env=self.environment,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.send_signal(number)  # `iez lab exec` and env have become `iez run`
            self.assertEqual(process.stdout.read(), f"got {name}\n")
            self.assertEqual(process.wait(LIMIT), 5)
            process.stdout.close()

    def test_a_signal_to_the_group_comes_once(self):
        counting = ("import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\nprint('ready', flush=True)\n"
                    "count, end = 0, None\n"
                    "while end is None or time.monotonic() < end:\n"
                    "    got = signal.sigtimedwait([signal.SIGINT], 5 if end is None else 0.1)\n"
                    "    if got is None: break\n"
                    "    count, end = count + 1, end or time.monotonic() + 0.2\n"
                    "print(count)\n")
        for _ in range(12):
            for to_group in (True, False):
                with subprocess.Popen([IEZ, "run", "-q", "--", sys.executable, "-c", counting], env=self.environment, text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True) as process:
                    self.assertEqual(process.stdout.readline(), "ready\n")
                    (os.killpg if to_group else os.kill)(process.pid, signal.SIGINT)
                    self.assertEqual((process.stdout.read(), process.wait(LIMIT)), ("1\n", 0), to_group)

    def test_a_failed_first_run_makes_no_plan(self):
        failed = self.report(["sh", "-c", WRITE + "; exit 9"], "--app", "failed", check=False)
        self.assertEqual((failed["recorded"], failed["next_plan"], failed["verdict"]), (True, None, None), failed)
        self.assertNotEqual(self.iez("plan", "show", "failed", check=False).returncode, 0)
        self.empty()
        self.assertTrue(self.report(["sh", "-c", WRITE], "--app", "failed")["next_plan"])

    def test_a_killed_program_changes_no_plan(self):
        self.report(["sh", "-c", WRITE], "--app", "mortal")
        before = self.plan("mortal")
        killed = self.iez_run(["sh", "-c", "dd if=/dev/zero of=other bs=64k count=9 status=none; kill -9 $$"], "--app", "mortal", check=False)
        self.assertEqual(killed.returncode, -signal.SIGKILL)
        self.assertEqual(self.plan("mortal"), before)
        runs = json.loads(self.iez("app", "show", "mortal", "--json").stdout)["runs"]
        self.assertEqual(sorted(one["exit_status"] for one in runs), [0, 137])
        self.nothing_left()

    def test_killed_at_any_moment(self):
        """kill -9 of iez run: the store is whole, a plan is there or not, the next run goes on and cleans up."""
        rounds = 200 if LONG else 40
        seed = int(os.environ.get("IEZ_SEED", random.randrange(1 << 30)))
        generator = random.Random(seed)
        script = "for i in 1 2 3; do dd if=/dev/zero of=k.$i bs=64k count=2 status=none; done"
        database = self.state / "iez/iez.db"
        began = time.monotonic()
        self.report(["sh", "-c", script], "--app", "killed")
        usual = time.monotonic() - began
        with self.subTest(seed=seed):
            for number in range(rounds):
                process = subprocess.Popen(list(map(str, self.exec_words(["sh", "-c", script], "--app", "killed", "-q"))),
                                           env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(generator.uniform(0, usual))
                process.kill()
                process.wait(LIMIT)
                with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
                    self.assertEqual(connection.execute("PRAGMA quick_check").fetchall(), [("ok",)], number)
                plan = self.state / "iez/plans/killed.iezplan"
                if plan.exists():
                    self.iez("plan", "check", plan)
                if number % 10 == 9:
                    self.assertEqual(self.iez("db", "check", check=False).returncode, 0)
            time.sleep(0.5)  # what the killed one started comes to its end
            self.empty()
            self.report(["sh", "-c", script], "--app", "killed")
            self.empty()
            last = self.report(["sh", "-c", script], "--app", "killed")
            self.assertTrue(last["recorded"], last)
            self.assertTrue(last["next_plan"], last)
            self.nothing_left()
            self.assertEqual([entry.name for entry in (self.state / "iez/plans").iterdir() if "iezplan" in entry.name],
                             ["killed.iezplan"])


class Adversity(RunCase):
    def plainly(self, result, word):
        self.assertEqual((result.returncode, result.stdout), (3, "data\n"))
        self.assertIn(word, result.stderr)
        self.assertLessEqual(len(result.stderr.splitlines()), 3)

    COMMAND = ["sh", "-c", "echo data; echo x >file; exit 3"]

    def test_no_store(self):
        self.plainly(self.iez_run(self.COMMAND, "--store", "mysql://u:p@127.0.0.1:1/iez", check=False), "store")
        self.plainly(self.iez_run(self.COMMAND, "--store", "/proc/none/iez.db", check=False), "store")

    def test_no_state(self):
        blocked = self.state / "file"
        blocked.write_text("")
        self.environment["IEZ_STATE"] = str(blocked / "iez")
        self.plainly(self.iez_run(self.COMMAND, check=False), "no store")

    def test_no_lustre(self):
        result = run([IEZ, "run", "--", *self.COMMAND], check=False, cwd=self.state,
                     env={**self.environment, "IEZ_DISABLE": "1"})
        self.assertEqual((result.returncode, result.stdout, result.stderr), (3, "data\n", ""))

    def test_no_coordinator(self):
        first = self.report(["sh", "-c", WRITE], "--app", "alone", "--coordinator", "http://127.0.0.1:1")
        self.assertEqual(first["planner"], "local")
        self.assertTrue(any("planned on this node" in note for note in first["notes"]), first)

    def test_wrong_settings(self):
        (self.state / "iez").mkdir(parents=True, exist_ok=True)
        (self.state / "iez/iez.toml").write_text("[runn]\n", encoding="utf-8")
        self.plainly(self.iez_run(self.COMMAND, check=False), "settings")

    def test_read_only_file(self):
        (self.place / "locked").mkdir()
        (self.place / "locked").chmod(0o555)
        result = self.iez_run(["sh", "-c", "echo x >locked/file || exit 4"], "--app", "ro", check=False)
        self.assertIn(result.returncode, (0, 4))  # root may write
        (self.place / "locked").chmod(0o755)

    def test_a_directory_that_the_program_makes(self):
        """It is told before the program starts, since a wrong name looks the same; and what is made there is traced."""
        made = self.place / "made/later"
        result = self.iez_run(["sh", "-c", f"echo began >&2; mkdir -p {made}; echo x >{made}/file; echo y >elsewhere"], "--under", made, "--app", "maker")
        lines = result.stderr.splitlines()
        self.assertEqual(lines[:2], [f"iez run: --under {made}: not there yet; it counts once it is made", "began"])
        self.assertIn("maker: traced: 1 file, ", lines[2])
        told = self.report(["true"], "--under", self.place / "nowhere", "--app", "typo")
        self.assertIn(f"--under {self.place}/nowhere: not there yet; it counts once it is made", told["notes"])
        self.assertNotIn("not there yet", self.iez_run(["true"], "--under", self.place / "nowhere", "-q").stderr)
        (self.place / "file").write_text("")
        wrong = self.iez_run(["sh", "-c", "echo ran >&2"], "--under", self.place / "file", check=False)
        self.assertEqual(wrong.returncode, 2)
        self.assertNotIn("ran", wrong.stderr)

    def test_nothing_traced_is_one_short_line(self):
        for flags in ((), ("--under", self.place), ("--under", self.mount / ("long" * 30))):
            lines = [line for line in self.iez_run(["ls", "-l"], *flags).stderr.splitlines() if "not there yet" not in line]
            self.assertRegex(lines[0], "^iez run: nothing was traced: no file (on Lustre|below .+?) was opened; see 'iez inject'$")
            self.assertLessEqual(len(lines[0]), 80)
            self.assertEqual(sum("nothing was traced" in line for line in lines), 1)
            self.assertNotIn("0 files", "".join(lines), "it was said")

    def test_a_static_program_is_the_cause(self):
        """It writes where files count, and nobody sees it: its file tells why."""
        program = self.state / "writer"
        (self.state / "writer.c").write_text('#include <stdio.h>\nint main(void) { FILE* f = fopen("out", "w"); return fputs("data", f) < 0 || fclose(f); }\n',
                                             encoding="utf-8")
        if run(["cc", "-static", "-o", program, self.state / "writer.c"], check=False).returncode != 0:
            self.skipTest("no static C library here")
        long = self.state / ("long" * 20)
        shutil.copy(program, long)
        for one, cause in ((program, "writer: static program"), (long, "static program")):
            with self.subTest(program=one.name):
                lines = self.iez_run([one]).stderr.splitlines()
                self.assertEqual(lines, [f"iez run: nothing was traced: {cause}; see 'iez inject'"])
        self.assertEqual((self.place / "out").read_text(encoding="utf-8"), "data")

    def test_many_at_once(self):
        command = ["sh", "-c", 'dd if=/dev/zero of=c.$0 bs=64k count=4 status=none']
        self.report([*command, "x"], "--app", "many")
        processes = [subprocess.Popen(list(map(str, self.exec_words([*command, str(number % 4)], "--app", "many", "-q"))),
                                      env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for number in range(20)]
        for process in processes:
            _, errors = process.communicate(timeout=LIMIT)
            self.assertEqual((process.returncode, errors), (0, b""))
        runs = json.loads(self.iez("app", "show", "many", "--json", "--limit", "0").stdout)["runs"]
        self.assertEqual(len(runs), 21)
        self.nothing_left()
        if (self.state / "iez/plans/many.iezplan").exists():
            self.iez("plan", "check", self.state / "iez/plans/many.iezplan")


@unittest.skipUnless(PROGRAM, "MariaDB is not installed")
class Mariadb(RunCase):
    def test_twice(self):
        self.environment["IEZ_STORE"], _ = start_mariadb(self)
        self.twice("shell", ["sh", "-c", WRITE], [f"out.{i}" for i in range(1, 7)])
        self.assertFalse((self.state / "iez/iez.db").exists())

    def test_openmpi(self):
        self.environment["IEZ_STORE"], _ = start_mariadb(self)
        self.mpi("openmpi")


class Coordinator(RunCase):
    def serve(self, *options):
        """Gives the address of a coordinator of this lab."""
        server = subprocess.Popen([IEZ, "serve", "--listen", "127.0.0.1:0", "--samples", "tcp://127.0.0.1:*", "--requests",
                                   "tcp://127.0.0.1:*", "--state", self.state / "serve", "--json", "--root", self.lab / "params/oss0",
                                   "--root", self.lab / "params/oss1", "--no-agents", *options],
                                  env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait, 60)
        self.addCleanup(server.terminate)
        return json.loads(server.stdout.readline())["url"]

    def test_twice(self):
        self.environment["IEZ_COORDINATOR"] = self.serve("--cpu-limit", "1", "--memory-limit", "1")
        first, second = self.twice("shell", ["sh", "-c", WRITE], [f"out.{i}" for i in range(1, 7)])
        if any("coordinator busy" in note for note in first["notes"] + second["notes"]):
            self.skipTest("this node is too busy for its coordinator")  # it planned by itself, as it should
        self.assertEqual((first["planner"], second["planner"]), (self.environment["IEZ_COORDINATOR"],) * 2, first)

    def test_a_busy_coordinator_keeps_nobody_waiting(self):
        """Its node's load is of others, and lasts: the run is planned here, at once. A limit of 0 is always reached."""
        url = self.serve("--cpu-limit", "1", "--memory-limit", "0")
        end = time.monotonic() + 30
        while time.monotonic() < end and b"iez_gate_closed 1" not in urllib.request.urlopen(f"{url}/metrics", timeout=30).read():
            time.sleep(0.1)
        self.environment["IEZ_COORDINATOR"] = url
        (self.state / "iez").mkdir(parents=True, exist_ok=True)
        (self.state / "iez/iez.toml").write_text("[coordinator]\ntimeout = \"60s\"\n", encoding="utf-8")
        began = time.monotonic()
        result = self.iez_run(["sh", "-c", WRITE], "--app", "hasty")
        self.assertLess(time.monotonic() - began, 30, "it waited for the coordinator, for as long as the settings allow")
        said = [line for line in result.stderr.splitlines() if "busy" in line]
        self.assertEqual(len(said), 1, result.stderr)
        self.assertRegex(said[0], r"^iez run: planned on this node: coordinator busy: memory \d+ % \(serve.memory_limit 0\)$")
        self.assertIn("next run: placed by plan (local)", result.stderr)
        self.assertIn("iez_queue_requests 0\n", urllib.request.urlopen(f"{url}/metrics", timeout=30).read().decode(), "it is asked to forget it")


if __name__ == "__main__":
    sys.argv[1:1] = ["-v"] if LONG else []
    unittest.main()
