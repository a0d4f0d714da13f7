#!/usr/bin/env python3
"""The command line: exit statuses, help, suggestions, what goes to which stream, JSON, watching, several sources, benches."""

import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import unittest

from terminal import Session, output_on_terminal

ROOT = pathlib.Path(__file__).resolve().parents[2]
IEZ = os.environ.get("IEZ", str(ROOT / "build/dev/apps/iez/iez"))
DATA = pathlib.Path(os.environ.get("IEZ_TEST_DATA", ROOT / "tests/fixtures"))
CAPTURES = DATA / "captures"
LAYOUT = DATA / "lustre-2.17.0/xattr/pfl.lustre.lov.bin"
LOG = DATA / "darshan/macsio-3.21.txt"
SERIES = ROOT / "tests/golden/forecast/traces/hacc.csv"

COMMANDS = (("status",), ("top",), ("layout",), ("layout", "show"), ("layout", "set"), ("place",), ("place", "explain"),
            ("plan",), ("plan", "compile"), ("plan", "show"), ("plan", "check"), ("plan", "explain"),
            ("plan", "diff"), ("plan", "expire"), ("run",),
            ("app",), ("app", "list"), ("app", "show"), ("app", "forget"),
            ("db",), ("db", "show"), ("db", "export"), ("db", "import"), ("db", "check"), ("db", "migrate"), ("db", "serve"),
            ("contention",), ("advise",), ("tune",), ("trace",), ("trace", "show"), ("trace", "merge"), ("trace", "export"), ("trace", "import"),
            ("log",), ("log", "show"), ("log", "check"), ("log", "flatten"),
            ("forecast",), ("forecast", "series"), ("forecast", "run"), ("sim",), ("sim", "run"), ("sim", "compare"), ("sim", "list"),
            ("sim", "show"), ("lab",), ("lab", "up"), ("lab", "down"), ("lab", "status"), ("lab", "exec"), ("lab", "df"), ("lab", "fault"),
            ("collective",), ("collective", "explain"),
            ("workload",), ("workload", "ior"), ("workload", "hacc"), ("workload", "flash"), ("workload", "chimera"), ("demo",), ("repro",), ("inject",), ("serve",), ("token",),
            ("jobs",), ("jobs", "report"), ("jobs", "show"), ("jobs", "user"), ("jobs", "contention"), ("jobs", "ingest"), ("jobs", "synth"), ("jobs", "check"),
            ("jobs", "compact"), ("jobs", "retain"), ("jobs", "sql"), ("jobs", "prolog"), ("jobs", "epilog"), ("jobs", "collect"), ("jobs", "spool"),
            ("jobs", "import"),
            ("agent",), ("agent", "watch"), ("keys",), ("keys", "init"), ("keys", "add"), ("keys", "list"), ("keys", "show"), ("bench",),
            ("completion",), ("help",))
# Each prints data, and nothing on stderr.
SOUND = (("status", "--root", "lustre-2.10.1"), ("top", "--root", "lustre-2.10.1"), ("layout", "show", "--raw", LAYOUT),
         ("layout", "set", "--dry-run", "-c", "2", "-S", "1M", "somewhere"), ("collective", "explain", "-c", "2"), ("trace", "show", LOG), ("trace", "import", LOG),
         ("forecast", "series", SERIES), ("forecast", "run", LOG), ("sim", "list"), ("sim", "show", "demo"),
         ("sim", "run", "demo"), ("bench",))


def run(*arguments, environment=None, **options):
    options = {"cwd": CAPTURES, "stdin": subprocess.DEVNULL, **options}
    return subprocess.run([IEZ, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=60,
                          env={**os.environ, **(environment or {})}, **options)


class Case(unittest.TestCase):
    maxDiff = None

    def assert_ends(self, result, status, message=""):
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertIn(message, result.stderr)

    def lines(self, *arguments, **options):
        """The JSON documents of a command that succeeds silently."""
        result = run(*arguments, **options)
        self.assertEqual((result.returncode, result.stderr), (0, ""), arguments)
        self.assertTrue(result.stdout.endswith("\n"))
        return [json.loads(line) for line in result.stdout.splitlines()]


class Exit(Case):
    def test_done(self):
        for command in SOUND:
            with self.subTest(command=command):
                result = run(*command)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertTrue(result.stdout)

    def test_failed(self):
        for command, message in (
            (("status", "--root", "nowhere"), "iez status: nowhere: No such file or directory"),
            (("status", "--root", "SOURCES.md"), "iez status: SOURCES.md: no 'name=value' line"),
            (("status", "--root", "lustre-2.10.1", "--fs", "x"), "iez status: file system 'x' is not here"),
            (("top", "--root", "get_param/valid.txt"), "iez top: no job_stats found"),
            (("top", "--root", "lustre-2.17.0-after", "--since", "nowhere"), "iez top: nowhere: No such file or directory"),
            (("layout", "show", "--raw", "nowhere"), "iez layout show: nowhere: No such file or directory"),
            (("layout", "show", "SOURCES.md"), "SOURCES.md"),
            (("layout", "set", "-c", "1", "SOURCES.md"), "SOURCES.md"),
        ):
            with self.subTest(command=command):
                result = run(*command)
                self.assert_ends(result, 1, message)
                self.assertEqual(result.stdout, "")

    def test_values_that_make_no_sense(self):
        for command, message in (
            (("top", "--root", "lustre-2.10.1", "--user", "no-such-user"), "iez top: --user no-such-user: no such user"),
            (("top", "--root", "get_param/valid.txt", "--watch"), "stands still"),
            (("status", "--root", "get_param/valid.txt", "--watch"), "stands still"),
            (("layout", "set", "--dry-run", "-S", "1000", "x"), "stripe size 1000: must be a multiple of 64 KiB"),
            (("layout", "set", "--dry-run", "-o", "4294967295", "x"), "OST numbers are 0 to 65534"),
            (("bench", "lustre-pars"), "no benchmark 'lustre-pars'; did you mean lustre-parse?"),
            (("help", "nosuch"), "iez has no command 'nosuch'"),
            (("help", "layout", "nosuch"), "iez layout has no command 'nosuch'"),
        ):
            with self.subTest(command=command):
                result = run(*command)
                self.assert_ends(result, 2, message)
                self.assertEqual(result.stdout, "")

    def test_usage(self):
        for command, where in (
            ((), "iez"), (("layout",), "iez layout"), (("status", "extra"), "iez status"), (("status", "--root"), "iez status"),
            (("status", "--every", "0s"), "iez status"), (("status", "--every", "soon"), "iez status"), (("status", "--count", "x"), "iez status"),
            (("status", "--count", "-1"), "iez status"), (("top", "--limit", "-1"), "iez top"), (("top", "--sort", "colour"), "iez top"), (("top", "--per", "rack"), "iez top"),
            (("top", "--limit", "many"), "iez top"), (("layout", "show"), "iez layout show"), (("layout", "set"), "iez layout set"),
            (("layout", "set", "-c", "1", "-E", "eof:count=1", "x"), "iez layout set"), (("completion",), "iez completion"),
            (("completion", "tcsh"), "iez completion"), (("--log-level", "loud", "status"), "iez"), (("--log-format", "xml", "status"), "iez"),
        ):
            with self.subTest(command=command):
                result = run(*command)
                self.assert_ends(result, 2, f"Try '{where}")
                self.assertTrue(result.stderr.startswith("iez: "), result.stderr)
                self.assertEqual(result.stdout, "")

    def test_what_is_said_of_a_wrong_line(self):
        for words, said in (
            ((), "say which command; 'iez --help' lists them"), (("layout",), "say which command: show or set"),
            (("layout", "show"), "PATH is missing: Files or directories on Lustre"), (("jobs", "contention"), "--at is missing: When (UTC)"),
            (("completion", "tcsh"), "SHELL: 'tcsh': expected bash, zsh or fish; did you mean bash?"),
            (("contention", "--osts", "-1"), "--osts: '-1': expected a whole number, 0 or more"),
            (("contention", "--osts", "9" * 30), f"--osts: '{'9' * 30}' is too large"), (("lab", "up", "--stripe-count", "70000"), "--stripe-count: '70000' is too large"),
            (("contention", "--max-load", "x"), "--max-load: 'x': expected a number"), (("status", "--json=x"), "--json takes no value; found 'x'"),
            (("top", "--limit"), "--limit needs a value: N"), (("top", "-n"), "--limit needs a value: N"), (("top", "--sort"), "--sort needs a value: bytes, rate, read, write, ops, size or job"),
            (("top", "--interval", "x"), "--interval: 'x': expected a duration such as 250ms, 2s or 5min"),
            (("top", "--limit", "1", "--limit", "2"), "--limit is given 2 times; give it once"), (("run", "--app", "", "--", "true"), "--app: the value is empty: expected NAME"),
            (("status", "--every", "1s"), "--every needs --watch, too"), (("run", "--learn", "--plan", "x", "true"), "--learn and --plan cannot be given together"),
            (("serve", "--cpu-limit", "1.5"), "--cpu-limit: '1.5': expected a number from 0 to 1"), (("log", "flatten", "-j", "0", "x"), "--jobs: '0': expected a whole number from 1 to 1024"),
            (("status", "--zzz=1"), "unknown option '--zzz'"), (("status", "lustre-2.10.1"), "'lustre-2.10.1' is a word too many"),
        ):
            with self.subTest(words=words):
                result = run(*words)
                self.assert_ends(result, 2)
                self.assertEqual(result.stderr.splitlines()[0], f"iez: {said}")

    def test_every_option_with_every_kind_of_wrong_value(self):
        """In our words, with the option that is meant. An option that nobody knows is behind each, so that nothing is ever run."""
        foreign = re.compile(r"not in \{|not in range|required|[Cc]ould not convert|not expected|excludes|requires|At Most|argument")
        asked = []
        for command in ((), *COMMANDS):
            for name, kind in re.findall(r"(?m)^  (?:-\w,)?(--[\w-]+|-\w\b)((?: [^\s]+)?)(?=\s|$)", run(*command, "--help").stdout):
                if name in ("--help", "--version"):
                    continue
                if not kind:
                    asked.append((command, name, ("--nosuch", f"{name}=x")) if name.startswith("--") else (command, "", ("--nosuch", name)))
                    continue
                asked.append((command, name, (name,)))
                asked.append((command, name, ("--nosuch", name, "")))
                asked += [(command, "", ("--nosuch", name, value)) for value in ("x", "1.5", "9" * 25, "\x1b[31m")]
                asked += [(command, "", ("--nosuch", f"{name}=-1")), (command, "", ("--nosuch", name, "1", name, "1"))]
        self.assertGreater(len(asked), 2000)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for (command, name, words), result in zip(asked, pool.map(lambda one: run(*one[0], *one[2]), asked)):
                where = (command, words)
                self.assertEqual((result.returncode, result.stdout), (2, ""), where)
                first, remedy = result.stderr.splitlines()
                self.assertTrue(first.startswith(f"iez: {name}"), (where, first))
                self.assertNotRegex(first, foreign, where)
                self.assertNotIn("\x1b", first)
                self.assertEqual(remedy, f"Try '{' '.join(('iez', *command))} --help'.")

    def test_a_suggestion_for_what_nobody_knows(self):
        for command, meant in (
            (("status", "--jsn"), "--json"), (("status", "--rot", "lustre-2.10.1"), "--root"), (("status", "--rot=lustre-2.10.1"), "--root"),
            (("top", "--sorted", "read"), "--sort"), (("top", "--intervall", "1s"), "--interval"), (("layout", "show", "--row", "x"), "--raw"),
            (("bench", "--quik"), "--quick"), (("statsu",), "status"), (("tpo",), "top"), (("layout", "shwo", "x"), "show"),
        ):
            with self.subTest(command=command):
                self.assert_ends(run(*command), 2, f"did you mean {meant}?")
        for words, said in ((("stauts",), "unknown command 'stauts'; did you mean status?"), (("layout", "shwo"), "unknown command 'shwo'; did you mean show?"),
                            (("zzzzzzzzz",), "unknown command 'zzzzzzzzz'\n")):
            self.assert_ends(run(*words), 2, said)
        for command in (("status", "--zzzzzzzzzzzz"), ("status", "lustre-2.10.1")):
            result = run(*command)
            self.assert_ends(result, 2)
            self.assertNotIn("did you mean", result.stderr)


class Help(Case):
    def test_every_command(self):
        for command in ((), *COMMANDS):
            with self.subTest(command=command):
                results = [run(*command, "--help"), run(*command, "-h"), run("help", *command)]
                for result in results:
                    self.assertEqual((result.returncode, result.stderr), (0, ""))
                    self.assertIn(f"Usage: {' '.join(('iez', *command))} ", result.stdout)
                    self.assertNotIn("\x1b", result.stdout)
                self.assertEqual(results[0].stdout, results[1].stdout)
                self.assertEqual(results[0].stdout, results[2].stdout)

    def test_help_fits_80_columns_and_has_an_example(self):
        for command in ((), *COMMANDS):
            text = run(*command, "--help").stdout
            with self.subTest(command=command):
                long = [line for line in text.splitlines() if len(line) > 80 and not line.startswith(("  -", "  iez ", "Usage: "))]
                self.assertEqual(long, [])
                if command and "\nSubcommands:\n" not in text or command in (("agent",), ("place",)):
                    self.assertRegex(text, rf"\nExample:\n  .*iez {' '.join(command)}\b")
                    options, example = text.split("\nExample:\n")
                    # What a subcommand takes of the options of the command above it is named by that one.
                    options += run(command[0], "--help").stdout if "\nTakes " in example else ""
                    own = next(part for part in re.split(r"[|;&\n]", example) if f"iez {' '.join(command)}" in part)
                    for option in re.findall(r"\s(--[a-z-]+)", own.split(" -- ")[0]):
                        self.assertRegex(options, rf"(?m)^\s.*{option}\b", "the example has an option that the command has not")

    def test_commands_are_in_groups(self):
        text = run("--help").stdout
        self.assertEqual(re.findall(r"(?m)^(\w+):$", text), ["Options", "Run", "Observe", "Plan", "Administer", "Research"])

    def test_every_command_is_listed(self):
        text = run("--help").stdout
        for command in COMMANDS:
            if len(command) == 1:
                self.assertRegex(text, rf"(?m)^  {command[0]} +\S")

    def test_options_are_told(self):
        for command, options in ((("status",), "--root --fs --watch --every --count --json --no-header"),
                                 (("top",), "--root --fs --since --interval --watch --every --count --sort --reverse --per --user --job --limit "
                                            "--json --no-header"),
                                 (("layout", "show"), "--raw --json"),
                                 (("layout", "set"), "--count --size --osts --pool --overstripe --component --dry-run --json"),
                                 (("bench",), "--all --case --cell --json --quick")):
            text = run(*command, "--help").stdout
            for option in options.split():
                self.assertRegex(text, rf"(?m)^  (-\w,)?{option}\b", command)

    def test_version(self):
        result = run("--version")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"\Aiez \d+\.\d+\.\d+ \([0-9a-z.-]+\)\n\Z")


class Json(Case):
    def test_one_document_a_line(self):
        for command, count in ((SOUND[0], 1), (SOUND[1], 1), (SOUND[2], 1), (SOUND[3], 1), (SOUND[4], 1),
                               (("layout", "show", "--raw", LAYOUT, LAYOUT), 2)):
            with self.subTest(command=command):
                self.assertEqual(len(self.lines(*command, "--json")), count)

    def test_the_other_paths_are_shown_when_one_fails(self):
        result = run("layout", "show", "--raw", "--json", "nowhere", LAYOUT, "SOURCES.md")
        self.assert_ends(result, 1, "nowhere")
        self.assertIn("SOURCES.md", result.stderr)
        self.assertEqual(json.loads(result.stdout)["path"], str(LAYOUT))

    def test_the_same_every_time(self):
        for command in SOUND:
            self.assertEqual(run(*command, "--json").stdout, run(*command, "--json", environment={"LC_ALL": "C", "TERM": "xterm"}).stdout)


class Watch(Case):
    def test_two_pictures(self):
        begin = time.monotonic()
        pictures = self.lines("status", "--root", "lustre-2.10.1", "--watch", "--count", 2, "--every", "50ms", "--json")
        self.assertGreater(time.monotonic() - begin, 0.05)
        self.assertEqual(len(pictures), 2)
        self.assertGreaterEqual(pictures[1].pop("time") - pictures[0].pop("time"), 0.05)
        self.assertEqual(pictures[0], pictures[1])

    def test_rates_of_a_watched_capture(self):
        pictures = self.lines("top", "--root", "lustre-2.10.1", "-w", "--count", 2, "--every", "50ms", "--json")
        self.assertEqual(len(pictures), 2)
        for picture in pictures:
            self.assertEqual(picture["rate_basis"], "interval")
            self.assertLessEqual(0.05, picture["interval_seconds"])
            self.assertEqual({job["write_rate"] for job in picture["jobs"]}, {0})

    def test_text_is_not_cleared_where_there_is_no_screen(self):
        for command in ("status", "top"):
            once = run(command, "--root", "lustre-2.10.1", "--interval", "50ms") if command == "top" else run(command, "--root", "lustre-2.10.1")
            twice = run(command, "--root", "lustre-2.10.1", "--watch", "--count", "2", "--every", "50ms")
            self.assertEqual((twice.returncode, twice.stderr), (0, ""))
            self.assertNotIn("\x1b", twice.stdout)
            self.assertEqual(len(twice.stdout.splitlines()), 2 * len(once.stdout.splitlines()))

    def test_two_samples(self):
        document = self.lines("top", "--root", "lustre-2.10.1", "--interval", "50ms", "--json")[0]
        self.assertEqual(document["rate_basis"], "interval")
        self.assertEqual(self.lines("top", "--root", "lustre-2.10.1", "--interval", "0", "--json")[0]["rate_basis"], "none")

    def test_stopped_by_the_reader(self):
        result = subprocess.run(["bash", "-c", '"$0" status --root lustre-2.10.1 --watch --every 1ms | head -1', IEZ], cwd=CAPTURES,
                                capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(len(result.stdout.splitlines()), 1)


class Sources(Case):
    def test_standard_input(self):
        dump = CAPTURES / "get_param/2.17.0_after.txt"
        by_name = self.lines("status", "--root", dump, "--json")[0]
        with open(dump, encoding="utf-8") as file:
            from_file = self.lines("status", "--root", "-", "--json", stdin=file)[0]
        piped = subprocess.run(["bash", "-c", 'cat "$1" | "$0" status --root - --json', IEZ, str(dump)], capture_output=True, text=True,
                               check=False, timeout=60)
        self.assertEqual((piped.returncode, piped.stderr), (0, ""))
        self.assertEqual(json.loads(piped.stdout), from_file)
        renamed = json.loads(json.dumps(by_name).replace(dump.name, "stdin"))
        self.assertEqual(from_file, renamed)

    def test_a_pipe_as_root(self):
        result = subprocess.run(["bash", "-c", '"$0" status --json --root <(cat "$1")', IEZ, str(CAPTURES / "get_param/valid.txt")],
                                capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(len(json.loads(result.stdout)["filesystems"][0]["osts"]), 2)

    def test_empty_standard_input(self):
        self.assert_ends(run("status", "--root", "-"), 1, "iez status: -: ")

    def test_several(self):
        roots = ("lustre-2.10.1", "get_param/valid.txt", "get_param/valid2.txt", "get_param/2.14.0_ddn145_stats.txt")
        arguments = [word for root in roots for word in ("--root", root)]
        together = self.lines("status", *arguments, "--json")[0]["filesystems"]
        alone = [view for root in roots for view in self.lines("status", "--root", root, "--json")[0]["filesystems"]]
        self.assertEqual({view["name"] for view in together}, {view["name"] for view in alone})
        self.assertEqual([view["name"] for view in together], sorted(view["name"] for view in together))
        jobs = self.lines("top", "--root", "lustre-2.10.1", "--root", "get_param/2.14.0_ddn162_job_stats.txt", "--json")[0]["jobs_seen"]
        self.assertEqual(jobs, 35 + 16)

    def test_one_of_several_is_missing(self):
        result = run("status", "--root", "lustre-2.10.1", "--root", "nowhere")
        self.assert_ends(result, 1, "nowhere: No such file or directory")
        self.assertEqual(result.stdout, "")

    def test_this_node(self):
        # It may or may not have Lustre.
        result = run("status", "--json")
        self.assertIn(result.returncode, (0, 1))
        if result.returncode == 1:
            self.assertRegex(result.stderr, "no Lustre target in localhost|permission denied")


class Log(Case):
    LOUD = ("top", "--root", "lustre-2.17.0-after", "--user", "0")  # warns of ids that tell no user

    def test_formats(self):
        result = run(*self.LOUD)
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"\A\d\d:\d\d:\d\d\.\d{3} warning  --user: \d+ jobs left out.*\n\Z")
        for place in (("--log-format", "json", *self.LOUD), (*self.LOUD, "--log-format", "json")):
            entries = [json.loads(line) for line in run(*place).stderr.splitlines()]
            self.assertEqual([(entry["level"], entry["message"][:7]) for entry in entries], [("warning", "--user:")])
            self.assertRegex(entries[0]["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")

    def test_levels(self):
        for level, loud in (("debug", True), ("warning", True), ("error", False), ("off", False)):
            self.assertEqual(bool(run("--log-level", level, *self.LOUD).stderr), loud, level)
        self.assertEqual(run(*self.LOUD).stdout, run("--log-level", "off", *self.LOUD).stdout)

    def test_problems_are_in_the_document_too(self):
        result = run("--log-level", "off", "top", "--root", "get_param/2.17.0_after.txt", "--json")
        document = json.loads(result.stdout)
        self.assertEqual((document["skipped_rows"], len(document["problems"]), result.stderr), (2, 2, ""))


class Terminal(Case):
    def on_terminal(self, *arguments, **environment):
        text, status = output_on_terminal((IEZ, *arguments), stderr=subprocess.DEVNULL, cwd=CAPTURES,
                                          env={"PATH": os.environ["PATH"], "TERM": "xterm", **environment})
        self.assertEqual(status, 0)
        return text

    def test_colour(self):
        command = ("status", "--root", "lustre-2.10.1")
        self.assertIn("\x1b[1mSERVER", self.on_terminal(*command))
        for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            self.assertNotIn("\x1b", self.on_terminal(*command, **environment))

    def test_characters(self):
        for locale, fancy in (("C.UTF-8", True), ("en_GB.utf8", True), ("C", False), ("POSIX", False)):
            text = self.on_terminal("status", "--root", "lustre-2.10.1", LC_ALL=locale)
            self.assertEqual(text.isascii(), not fancy, locale)

    CAPTURED = (("status", "--root", "lustre-2.10.1"), ("status", "--root", "lustre-2.17.0-after"),
                ("top", "--root", "lustre-2.17.0-after", "--since", "lustre-2.17.0-before"), ("top", "--root", "lustre-2.17.0-after", "--per", "ost"),
                ("top", "--root", "get_param/2.14.0_ddn162_job_stats.txt"),
                ("contention", "--root", "lustre-2.17.0-after", "--since", "lustre-2.17.0-before"))

    def test_what_is_shown_fits_the_terminal(self):
        for columns in (60, 80, 100, 120):
            for command in self.CAPTURED:
                with self.subTest(command=command, columns=columns):
                    text, status = output_on_terminal((IEZ, *command), stderr=subprocess.DEVNULL, cwd=CAPTURES, columns=columns,
                                                      env={"PATH": os.environ["PATH"], "TERM": "dumb", "LC_ALL": "C.UTF-8"})
                    self.assertEqual(status, 0)
                    lines = text.replace("\r", "").splitlines()
                    self.assertLessEqual(max(map(len, lines)), columns, text)
                    self.assertGreater(len(lines), 3)

    def test_more_columns_show_more(self):
        def titles(columns):
            text, _ = output_on_terminal((IEZ, "status", "--root", "lustre-2.10.1"), stderr=subprocess.DEVNULL, cwd=CAPTURES, columns=columns,
                                         env={"PATH": os.environ["PATH"], "TERM": "dumb", "LC_ALL": "C"})
            return [line.split() for line in text.splitlines() if line.startswith(("SERVER", "OST "))]

        self.assertEqual(titles(80), [["SERVER", "OSTS", "SIZE", "AVAILABLE", "USE", "CPU", "MEMORY", "LOAD"], ["OST", "SERVER", "AVAILABLE", "USE", "STATE"]])
        self.assertEqual(titles(140), [["SERVER", "OSTS", "SIZE", "USED", "AVAILABLE", "USE", "CPU", "MEMORY", "LOAD"],
                                       ["OST", "SERVER", "SIZE", "USED", "AVAILABLE", "USE", "STATE"]])

    def watching(self, *command):
        session = Session((IEZ, *command, "--watch", "--every", "30s"), cwd=CAPTURES, env={"PATH": os.environ["PATH"], "TERM": "xterm", "TZ": "UTC"})
        self.addCleanup(session.close)
        return session

    def test_keys(self):
        session = self.watching("status", "--root", "lustre-2.10.1")
        self.assertRegex(session.until("OST0006"), r"iez status  every 30\.0 s  \d\d:\d\d:\d\d  s: OSTs by number  q: quit")
        session.type("s")
        by_use = session.until("OST0001  ")
        self.assertIn("s: OSTs by use", by_use)
        self.assertLess(by_use.index("OST0000"), by_use.index("OST0001"))
        session.type("q")
        self.assertEqual(session.end(), 0)
        self.assertTrue(session.is_as_before())

    def test_the_line_above_a_watched_picture_fits(self):
        """What it says of least worth leaves first; the keys stay."""
        for command, whole in ((("top", "--root", "lustre-2.10.1"), True), (("status", "--root", "lustre-2.10.1"), False), (("contention", "--root", "lustre-2.17.0-after"), False)):
            for columns in (60, 120):
                session = Session((IEZ, *command, "--watch", "--every", "1s"), columns=columns, cwd=CAPTURES,
                                  env={"PATH": os.environ["PATH"], "TERM": "xterm", "TZ": "UTC"})
                self.addCleanup(session.close)
                line = re.search(r"iez [^\r\n]*q: quit", session.until("q: quit"))[0]
                self.assertLessEqual(len(line), columns, line)
                self.assertEqual("every 1.00 s" in line, whole or columns == 120, line)
                self.assertRegex(line, r"  s: ")
                session.type("q")
                self.assertEqual(session.end(), 0)

    def test_other_columns_by_a_key(self):
        session = self.watching("top", "--root", "lustre-2.10.1", "--interval", "50ms")
        for column in ("rate", "read", "write", "ops", "size", "job", "bytes", "rate"):
            self.assertIn("q: quit", session.until(f"s: by {column}  q: quit"))
            session.type("s")
        session.type("q")
        self.assertEqual(session.end(), 0)

    def test_the_terminal_is_given_back(self):
        for send, status in ((signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGKILL, -signal.SIGKILL)):
            session = self.watching("status", "--root", "lustre-2.10.1")
            session.until("OST0006")
            self.assertFalse(session.is_as_before())
            session.process.send_signal(send)
            self.assertEqual(session.end(), status)
            self.assertEqual(session.is_as_before(), send != signal.SIGKILL)

    def test_documents_have_no_colour(self):
        json.loads(self.on_terminal("status", "--root", "lustre-2.10.1", "--json"))


class Bench(Case):
    def test_list(self):
        listed = self.lines("bench", "--json")[0]
        self.assertIn("lustre-parse", [item["bench"] for item in listed])
        text = run("bench").stdout
        for item in listed:
            self.assertRegex(text, rf"(?m)^{re.escape(item['bench'])} +{re.escape(item['summary'])}$")

    def test_figures(self):
        result = run("bench", "lustre-parse", "--quick", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stdout.splitlines()
        self.assertEqual(len(lines), 1)
        document = json.loads(lines[0])
        self.assertEqual(list(document), ["bench", "commit", "figures"])
        self.assertEqual(document["bench"], "lustre-parse")
        self.assertEqual(document["commit"], re.search(r"\((.*)\)", run("--version").stdout)[1])
        self.assertTrue(document["figures"])
        for figure in document["figures"]:
            self.assertEqual(list(figure), ["name", "value", "unit", "better", "target", "note"])
            self.assertRegex(figure["name"], r"^[a-z0-9_]+\.[a-z0-9_]+$")
            self.assertIn(figure["better"], ("higher", "lower"))
            for key in ("value", "target"):
                self.assertTrue(figure[key] is None or isinstance(figure[key], (int, float)), figure)
            for key in ("unit", "note"):
                self.assertIsInstance(figure[key], str)
        self.assertIn("parse.jobstats_mb_s", [figure["name"] for figure in document["figures"]])

    def test_only_loop_has_cases(self):
        self.assert_ends(run("bench", "lustre-parse", "--case", "4-steps"), 2, "only loop has cases")
        self.assert_ends(run("bench", "loop", "--quick", "--case", "5-stops"), 2, "no case '5-stops'")

    def test_only_collective_has_cells(self):
        self.assert_ends(run("bench", "lustre-parse", "--cell", "memory"), 2, "only collective has cells")
        self.assert_ends(run("bench", "collective", "--quick", "--cell", "memory, ROMEO"), 2, "no cell has 'memory, ROMEO' in its name")

    def test_measure(self):
        dump = CAPTURES / "lustre-2.17.0-after/proc/fs/lustre/mdt/lustre-MDT0000/job_stats"
        cost = self.lines("bench", "--measure", dump)[0]
        self.assertEqual((cost["jobs"], cost["bytes"]), (dump.read_text(encoding="utf-8").count("job_id"), dump.stat().st_size))


if __name__ == "__main__":
    unittest.main()
