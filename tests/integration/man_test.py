#!/usr/bin/env python3
"""The man pages and the program say the same: commands, options, JSON keys; and the examples work.

Conventions of docs/man/*.1 (mdoc):
  .It ... Fl Fl NAME     an option of the command, in the section OPTIONS
  Va KEY                 a key of its JSON; ".It Va KEY" in the subsection JSON defines it
  .\\" run                the next line, ".Dl $ COMMAND", is run by this test in tests/fixtures/captures and must succeed
"""

import json
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("IEZ_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
IEZ = pathlib.Path(os.environ.get("IEZ", ROOT / "build/dev/apps/iez/iez")).resolve()
MAN = ROOT / "docs/man"
CAPTURES = ROOT / "tests/fixtures/captures"
LAYOUTS = sorted((ROOT / "tests/fixtures/lustre-2.17.0/xattr").glob("*.lustre.lov.bin"))
JOB_STATS = "lustre-2.17.0-after/proc/fs/lustre/mdt/lustre-MDT0000/job_stats"

# Commands without a page of their own, and where they are described.
ELSEWHERE = {"help": "iez"}
# Keys that no capture makes the program print.
# Of agents, which take two processes.
AGENTS = {"samples", "age", "duplicates", "restarts", "missing", "skew", "stale_samples", "targets"}
CONDITIONAL = {"iez-agent": AGENTS,
               "iez-plan": {"application", "plan", "planner", "policy", "made_ns", "file_system", "pattern", "created_as", "reason", "state",
                            "ost_cost_before", "ost_cost_after", "all_files", "ost_before", "ost_after", "oss_before", "oss_after", "measured", "notes", "now",
                            "follows", "applications"},
               "iez-run": {"recorded", "files", "bytes_written", "created", "predicted", "existing", "placed", "refused", "respected", "accuracy", "ost_cost",
                           "gain", "write_ratio", "read_ratio", "given_up", "next_plan", "verdict", "planner", "next_files"},
               "iez-bench": {"cases"}, "iez-collective": {"unasked", "ways"}, "iez-place": {"placed", "phases", "by_default", "phases_bound", "verdict", "gain"},
               "iez-layout": {"extension_size"}, "iez-serve": {"url", "samples", "requests", "state", "agents", "osts", "stale", "plans", "files", "reserved", "queue", "busy", "unusable", "why"}, "iez-db": {"store"}, "iez-repro": {"columns"}, "iez": {"time", "level", "message"}}
SECTIONS = ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "OUTPUT", "FILES", "EXIT STATUS", "EXAMPLES", "SEE ALSO")


def run(*arguments):
    return subprocess.run([IEZ, *map(str, arguments)], cwd=CAPTURES, capture_output=True, text=True, check=False, timeout=120,
                          stdin=subprocess.DEVNULL)


def help_of(command):
    result = run(*command, "--help")
    assert result.returncode == 0, result.stderr
    return result.stdout


def subcommands(command=()):
    """The names below "Subcommands:" of a help, or below the groups of that of iez itself."""
    _, _, listed = help_of(command).partition("\nSubcommands:\n" if command else "\nRun:\n")
    return re.findall(r"^  (\w[\w-]*) ", listed.partition("\nExample:\n")[0], flags=re.MULTILINE)


def commands_of(page):
    """The commands that a page describes: ("layout",), ("layout", "show"), ... for iez-layout."""
    if page == "iez":
        return [(), *((name,) for name, where in ELSEWHERE.items() if where == "iez")]
    name = page.removeprefix("iez-")
    return [(name,), *((name, sub) for sub in subcommands((name,)))]


def long_options(command):
    """Those that a help defines: each on a line of its own, after its short name if it has one."""
    return set(re.findall(r"^  (?:-\w,)?--([a-z][a-z-]*)", help_of(command), flags=re.MULTILINE))


def short_options(command):
    return set(re.findall(r"^  -(\w),--", help_of(command), flags=re.MULTILINE))


def source_of(page):
    return (MAN / f"{page}.1").read_text(encoding="utf-8")


def section(text, name):
    match = re.search(rf'^\.S[hs] "?{name}"?$(.*?)(?=^\.Sh |\Z)', text, flags=re.MULTILINE | re.DOTALL)
    return match[1] if match else ""


def words_of(line, macro):
    """The arguments of a macro on a line, up to the next macro: the keys of "Va a , b and Va c"."""
    found = set()
    for part in re.split(rf"(?:^\.|\s){macro}\s", line)[1:]:
        for word in part.split():
            if re.fullmatch(r"[A-Z][a-z]", word):
                break
            if re.fullmatch(r"[a-z][a-z0-9_]*", word):
                found.add(word)
    return found


def named_keys(text):
    return set().union(*(words_of(line, "Va") for line in text.splitlines() if line.startswith(".")))


def defined_keys(text):
    return set().union(*(words_of(line, "Va") for line in text.splitlines() if line.startswith(".It ")))


def keys(value):
    """All keys of a JSON value, at any depth."""
    if isinstance(value, dict):
        return set(value).union(*map(keys, value.values()))
    if isinstance(value, list):
        return set().union(*map(keys, value))
    return set()


def printed_keys(*runs):
    found = set()
    for arguments in runs:
        result = run(*arguments)
        assert result.returncode == 0, (arguments, result.stderr)
        for line in result.stdout.splitlines():
            found |= keys(json.loads(line))
    return found


PAGES = sorted(path.stem for path in MAN.glob("*.1"))
BATCH = ("--cluster", ROOT / "examples/clusters/iez-testbed.toml", "--requests", ROOT / "examples/requests/ior-count8.csv")
AFTER = ("--json", "--root", "lustre-2.17.0-after")
SEGMENT = ROOT / "tests/fuzz/corpus/trace_segment/calls"
RUNS = [ROOT / f"examples/traces/run{number}.csv" for number in (1, 2, 3, 4)]
SERIES = ROOT / "tests/golden/forecast"
PLANS = ROOT / "tests/fuzz/corpus/plan"
SCRATCH = tempfile.TemporaryDirectory()
LAB = pathlib.Path(SCRATCH.name) / "lab"
LOGGED = pathlib.Path(shutil.copytree(ROOT / "examples/logs", pathlib.Path(SCRATCH.name) / "logs")) / "out"
REPLAY = pathlib.Path(SCRATCH.name) / "replay.toml"
REPLAY.write_text(f'machine = "iez-testbed"\n[[job]]\nkind = "trace"\ntrace = "{RUNS[0]}"\n', encoding="utf-8")
STORE = ("--json", "--store", pathlib.Path(SCRATCH.name) / "iez.db")
# One of each kind of record, of whoever runs this.
EXPORT = pathlib.Path(SCRATCH.name) / "export.jsonl"
EXPORT.write_text((ROOT / "tests/fuzz/corpus/store_lines/all_kinds").read_text(encoding="utf-8").replace(
    '"ann"', json.dumps(pwd.getpwuid(os.geteuid()).pw_name)), encoding="utf-8")
APPLICATIONS = pathlib.Path(SCRATCH.name) / "app.db"
JOBS_SPOOL = pathlib.Path(SCRATCH.name) / "spooled"
JOBS = ("--json", "--store", pathlib.Path(SCRATCH.name) / "jobs")
JOBS_ROWS = pathlib.Path(SCRATCH.name) / "jobs.csv"
JSON_RUNS = {
    "iez-jobs": [("jobs", "ingest", JOBS_ROWS, *JOBS), ("jobs", "report", *JOBS), ("jobs", "show", "5000001", *JOBS),
                 ("jobs", "user", "20020", *JOBS), ("jobs", "contention", "--at", "2018-06-12T05:30", *JOBS), ("jobs", "check", *JOBS),
                 ("jobs", "compact", *JOBS), ("jobs", "retain", "--months", "1", *JOBS),
                 ("jobs", "prolog", "--root", "lustre-2.17.0-before", "--state", JOBS_SPOOL / "state", "--job", "7"),
                 ("jobs", "epilog", "--root", "lustre-2.17.0-after", "--state", JOBS_SPOOL / "state", "--job", "7", "--nodes", "1", "--spool", JOBS_SPOOL / "spool"),
                 ("jobs", "collect", "--json", JOBS_SPOOL / "spool"), ("jobs", "spool", "--json", JOBS_SPOOL / "spool"),
                 ("jobs", "import", "--json", "--format", "influx", "--out", JOBS_SPOOL / "import", ROOT / "tests/fuzz/corpus/job_points/influx"),
                 ("jobs", "spool", "--json", JOBS_SPOOL / "import")],
    "iez-app": [("app", *command, "--json", "--store", APPLICATIONS) for command in (("list",), ("show", "ior"), ("forget", "ior"))],
    "iez-db": [("db", "import", EXPORT, *STORE), ("db", "show", *STORE), ("db", "check", *STORE), ("db", "migrate", *STORE)],
    "iez-status": [("status", "--json", "--root", root) for root in ("lustre-2.10.1", "lustre-2.17.0-after", "get_param/valid_mds.txt")]
    + [("status", "--json", "--watch", "--count", "1", "--root", "lustre-2.10.1")],
    "iez-top": [("top", *AFTER), ("top", *AFTER, "--since", "lustre-2.17.0-before"), ("top", *AFTER, "--per", "ost"),
                ("top", *AFTER, "--per", "server"), ("top", "--json", "--root", "lustre-2.10.1"),
                ("top", *AFTER, "--watch", "--every", "50ms", "--count", "1"),
                ("top", "--json", "--root", "get_param/2.14.0_ddn162_job_stats.txt")],
    "iez-layout": [("layout", "show", "--raw", "--json", *LAYOUTS), ("layout", "set", "--dry-run", "--json", "--osts", "3,1", "x"),
                   ("layout", "set", "--dry-run", "--json", "-E", "1M:mdt", "-E", "eof:count=2", "x")],
    "iez-contention": [("contention", "--json", "--osts", "480", "--stripes", "160", "--max-load", "2"), ("contention", *AFTER),
                       ("contention", *AFTER, "--watch", "--every", "50ms", "--count", "1")],
    "iez-collective": [("collective", "explain", "--json", "-c", "4", "--nodes", "2"),
                       ("collective", "explain", "--json", "--counters", "../collective/counters.jsonl")],
    "iez-advise": [("advise", "--json", "--machine", "lscratchc", "--ranks", "4096", "--bytes", "4T", "--per-process")],
    "iez-tune": [("tune", "--json", "--counts", "1,2", "--sizes", "1M", *extra, "--", "echo", "5 MB/s")
                 for extra in ((), ("--dry-run",))],
    "iez-place": [("place", "--json", *BATCH), ("place", "--json", "--compare", "--seeds", "2", *BATCH),
                  ("place", "--json", "--exclude", "3", *BATCH, "explain", "ior.03")],
    "iez-plan": [("plan", "compile", "--json", ROOT / "examples/plans/demo.csv", "-o", pathlib.Path(SCRATCH.name) / "demo.iezplan"),
                 ("plan", "show", "--json", PLANS / "demo"), ("plan", "check", "--json", PLANS / "demo"),
                 ("plan", "show", "--json", PLANS / "rules"), ("plan", "diff", "--json", PLANS / "rules", PLANS / "demo"),
                 ("plan", "show", "--json", PLANS / "demo", "--match", "/scratch/ckpt.100.7", "/scratch/mesh.h5", "/elsewhere")],
    "iez-trace": [("trace", "show", "--json", "--calls", SEGMENT),
                  ("trace", "merge", "--json", SEGMENT, "-o", pathlib.Path(SCRATCH.name) / "merged.ieztrace")],
    "iez-log": [("log", "show", "--json", LOGGED), ("log", "check", "--json", LOGGED), ("log", "flatten", "--json", LOGGED)],
    "iez-forecast": [("forecast", "series", "--json", "--test", "4", SERIES / "traces/ckpt_mix.csv"),
                     ("forecast", "series", "--json", "--order", "0,1,1", SERIES / "series_Nile.csv"),
                     ("forecast", "run", "--json", *RUNS[:3], "--score", RUNS[3])],
    "iez-sim": [("sim", "run", "--json", "--samples", "demo", "--sweep", "congestion.fixed=1,4", "--set", "job.0.start_spread=10ms"),
                ("sim", "run", "--json", "fix-8-1024", "--set", "job.0.processes=16", "--set", "job.0.block=16MiB", "--set",
                 "job.0.start_spread=0s"), ("sim", "run", "--json", REPLAY), ("sim", "compare", "--json", "demo", "demo"),
                ("sim", "list", "--json")],
    "iez-lab": [("lab", "up", "--json", "--dir", LAB, "--oss", "1", "--osts", "1", "--rate", "1GB/s"),
                ("lab", "df", "--json", "--dir", LAB), ("lab", "fault", "--json", "--dir", LAB, "slow", "ost0", "0.5"),
                ("lab", "status", "--json", "--dir", LAB), ("lab", "down", "--json", "--dir", LAB)],
    "iez-workload": [("workload", "ior", "--json", "-o", pathlib.Path(SCRATCH.name) / "ior", "-F", "-n", "2", "--verify"),
                     ("workload", "flash", "--json", "-a", "POSIX", "--blocks", "1", pathlib.Path(SCRATCH.name) / "flash"),
                     ("workload", "chimera", "--json", "-a", "POSIX", "--grid", "8x8x8", pathlib.Path(SCRATCH.name) / "chimera")],
    "iez-demo": [("demo", "--json", "--quick", "--local", "--case", "unequal", "--out", pathlib.Path(SCRATCH.name) / "demo")],
    "iez-run": [("run", "--dry-run", "--json", "--under", "/tmp", "--", "mpirun", "-n", "8", "./simulation")],
    "iez-repro": [("repro", "--json", "--quick", "--only", "contention")],
    "iez-agent": [("agent", "--print", "--root", "lustre-2.17.0-after"),
                  ("agent", "--samples", f"ipc://{SCRATCH.name}/s", "--requests", f"ipc://{SCRATCH.name}/r", "watch", "--json", "--every", "50ms",
                   "--count", "1")],
    "iez-keys": [("keys", "init", "--json", "--dir", pathlib.Path(SCRATCH.name) / "keys"),
                 ("keys", "show", "agent", "--json", "--dir", pathlib.Path(SCRATCH.name) / "keys")],
    "iez-inject": [("inject", "--json", IEZ)],
    "iez-doctor": [("doctor", "--json")],
    "iez-bench": [("bench", "--json"), ("bench", "--quick", "--json", "lustre-parse"), ("bench", "--measure", JOB_STATS)],
}


def setUpModule():
    made = run("jobs", "synth", "--series", "--jobs", "400", "-o", JOBS_ROWS)
    assert made.returncode == 0, made.stderr
    result = run("db", "import", EXPORT, "--store", APPLICATIONS)
    assert result.returncode == 0, result.stderr


class Man(unittest.TestCase):
    maxDiff = None

    def test_every_command_has_a_page(self):
        expected = {"iez"} | {f"iez-{name}" for name in subcommands() if name not in ELSEWHERE}
        self.assertEqual(set(PAGES), expected)

    def test_iez_1_lists_every_command(self):
        listed = set(re.findall(r"^\.It Cm (\w+)$", section(source_of("iez"), "DESCRIPTION"), flags=re.MULTILINE))
        self.assertEqual(listed, set(subcommands()))

    def test_sections(self):
        for page in PAGES:
            with self.subTest(page=page):
                found = re.findall(r"^\.Sh (.+)$", source_of(page), flags=re.MULTILINE)
                self.assertEqual([name for name in found if name in SECTIONS], list(SECTIONS))

    def test_every_option_is_described(self):
        for page in PAGES:
            with self.subTest(page=page):
                text = section(source_of(page), "OPTIONS")
                commands = commands_of(page)
                self.assertEqual(set(re.findall(r"^\.It .*?Fl Fl ([a-z-]+)", text, flags=re.MULTILINE)),
                                 set().union(*map(long_options, commands)))
                self.assertEqual(set(re.findall(r"^\.It Fl (\w) , Fl Fl", text, flags=re.MULTILINE)),
                                 set().union(*map(short_options, commands)) | {"h"})

    def test_no_other_option_is_mentioned(self):
        everywhere = long_options(()) | {"json"}
        for page in PAGES:
            known = everywhere.union(*map(long_options, commands_of(page))) | ({"root"} if page == "iez" else set())
            with self.subTest(page=page):
                self.assertLessEqual(set(re.findall(r"Fl Fl ([a-z-]+)", source_of(page))), known)

    def test_choices_of_an_option_are_described(self):
        for page in PAGES:
            for command in commands_of(page):
                for name, choices in re.findall(r"--([a-z-]+) ([a-z]+(?:\|[a-z]+)+)(?=\s)", help_of(command)):
                    with self.subTest(page=page, option=name):
                        self.assertIn(f"Fl Fl {name} Cm {choices.replace('|', ' | ')}\n", source_of(page))

    def test_mandoc_finds_nothing(self):
        self.assertTrue(shutil.which("mandoc"), "mandoc is not installed: tools/setup test")
        for page in PAGES:
            with self.subTest(page=page):
                result = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", MAN / f"{page}.1"], capture_output=True, text=True,
                                        check=False)
                self.assertEqual((result.stdout, result.returncode), ("", 0))

    def test_every_json_key_is_described_and_printed(self):
        for page in PAGES:
            with self.subTest(page=page):
                text = source_of(page)
                printed = printed_keys(*JSON_RUNS.get(page, []))
                self.assertEqual(printed - named_keys(text), set(), "printed, but not in the page")
                defined = defined_keys(section(text, "OUTPUT"))
                self.assertEqual(defined - printed, CONDITIONAL.get(page, set()), "in the page, but never printed")

    def test_examples(self):
        environment = {**os.environ, "PATH": f"{IEZ.parent}:{os.environ['PATH']}"}
        for page in PAGES:
            text = section(source_of(page), "EXAMPLES")
            marks = text.count('.\\" run\n')
            examples = re.findall(r'^\.\\" run\n\.Dl \$ (.+)$', text, flags=re.MULTILINE)
            self.assertEqual(len(examples), marks, f"{page}: a mark without '.Dl $ COMMAND' behind it")
            self.assertGreater(marks, 0, f"{page}: no example that can be tried")
            for example in examples:
                command = example.replace("\\-", "-")
                with self.subTest(page=page, command=command):
                    result = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=CAPTURES, env=environment, capture_output=True,
                                            text=True, check=False, timeout=120, stdin=subprocess.DEVNULL)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    if "<(" in command:  # its status is not that of iez
                        self.assertEqual(result.stderr, "")
                    else:
                        self.assertTrue(result.stdout)


if __name__ == "__main__":
    unittest.main()
