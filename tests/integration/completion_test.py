#!/usr/bin/env python3
"""Completion in bash, zsh and fish: what each offers, by real shells; applications, OSTs and labs; what is slow or broken is passed over."""

import os
import pathlib
import pwd
import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

from cli_test import CAPTURES, COMMANDS, IEZ, ROOT, run
from folder_case import FolderCase
from terminal import Session

PROGRAMS = pathlib.Path(IEZ).resolve().parent
ENVIRONMENT = {"PATH": f"{PROGRAMS}:{os.environ['PATH']}", "TERM": "dumb", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}
COMMAND_NAMES = [words[0] for words in COMMANDS if len(words) == 1] + ["doctor"]


def shell(name):
    """Never skipped: a shell that is missing is one that nobody tried."""
    path = shutil.which(name)
    if not path:
        raise AssertionError(f"{name} is not installed: tools/setup test")
    return path


def offered_by_bash(*words, environment=None, cwd=CAPTURES):
    """What bash would offer for the last word, by its own variables."""
    line = " ".join(words)
    script = ('source <(iez completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE=$LINE; COMP_POINT=${#COMP_LINE}; _iez; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    result = subprocess.run([shell("bash"), "--norc", "-uc", script, "bash", *words], capture_output=True, text=True, check=False, timeout=60,
                            cwd=cwd, env={**ENVIRONMENT, **(environment or {}), "LINE": line})
    assert (result.returncode, result.stderr) == (0, ""), (words, result.stderr)
    return sorted(word for word in result.stdout.split("\n") if word)


def offered_by_fish(*words, environment=None, cwd=CAPTURES):
    """Words and descriptions."""
    with tempfile.TemporaryDirectory() as home:
        result = subprocess.run([shell("fish"), "--no-config", "-c", "iez completion fish | source; complete -C \"$LINE\""], capture_output=True,
                                text=True, check=False, timeout=60, cwd=cwd,
                                env={**ENVIRONMENT, "HOME": home, **(environment or {}), "LINE": " ".join(words)})
    assert (result.returncode, result.stderr) == (0, ""), (words, result.stderr)
    return dict((*line.split("\t"), "")[:2] for line in result.stdout.splitlines())


class Shell:
    """An interactive shell with our completion; what is typed is shown by it when a line is done."""

    START = {"bash": (("--norc", "-i"), "PS1='> '; source <(iez completion bash)"),
             "zsh": (("-f", "-i"), "PS1='> '; unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -u -D; source <(iez completion zsh)")}

    def __init__(self, name, cwd=CAPTURES, setup=None, environment=None):
        options, start = self.START[name]
        self.session = Session((shell(name), *options), cwd=cwd, columns=200, env={**ENVIRONMENT, **(environment or {})})
        self.session.type((setup or start) + "; echo rea''dy\r")
        self.session.until("ready\r\n")

    def completed(self, typed):
        """The line that comes of `typed` and the tabulator."""
        self.session.type(typed + "\t")
        time.sleep(0.3)  # a shell drops what is typed ahead while it completes
        self.session.type("\x01echo GO''T: \x05 :E''ND\r")  # what is typed is shown, too: in other letters
        return re.search(r"GOT: (.*?) :END\r\n", self.session.until(":END\r\n"))[1]

    def listed(self, typed, last):
        """What is shown below the line, up to the text `last`."""
        self.session.type(typed + "\t\t")
        shown = self.session.until(last)
        self.session.type("\x15\recho cle''ar\r")
        self.session.until("clear\r\n")
        return shown

    def close(self):
        self.session.type("\x15exit\r")
        self.session.end()
        self.session.close()


OFFERS = (
    (("iez", "st"), ["status"]),
    (("iez", "zz"), []),
    (("iez", "--log"), ["--log-format", "--log-level"]),
    (("iez", "--log-level", ""), ["debug", "error", "info", "off", "warning"]),
    (("iez", "--log-level", "w"), ["warning"]),
    (("iez", "--log-level", "debug", "to"), ["token", "top"]),
    (("iez", "status", "--no"), ["--no-header"]),
    (("iez", "top", "--s"), ["--since", "--sort"]),
    (("iez", "top", "--sort", "r"), ["rate", "read"]),
    (("iez", "top", "-s", "r"), ["rate", "read"]),
    (("iez", "top", "--per", ""), ["job", "ost", "server"]),
    (("iez", "top", "--limit", ""), []),
    (("iez", "top", "--log-level", "e"), ["error"]),
    (("iez", "top", "--job", "status", "--re"), ["--reverse"]),
    (("iez", "layout", ""), ["set", "show"]),
    (("iez", "layout", "sh"), ["show"]),
    (("iez", "layout", "show", "--r"), ["--raw"]),
    (("iez", "layout", "set", "--o"), ["--osts", "--overstripe"]),
    (("iez", "trace", ""), ["export", "import", "merge", "show"]),
    (("iez", "trace", "show", "--from", "r"), ["recorder"]),
    (("iez", "forecast", "run", "--s"), ["--scale", "--score"]),
    (("iez", "bench", "lu"), ["lustre-parse"]),
    (("iez", "bench", "loop", "--case", "shared"), ["shared", "shared-4"]),
    (("iez", "completion", ""), ["bash", "fish", "zsh"]),
    (("iez", "advise", "--machine", ""), ["lscratchc"]),
    (("iez", "sim", "show", "lsc"), ["lscratchc"]),
    (("iez", "help", "la"), ["lab", "layout"]),
    (("iez", "help", "layout", ""), ["set", "show"]),
    (("iez", "lab", "fault", "k"), ["kill"]),
    (("iez", "layout", "show", "--raw", "SOU"), ["SOURCES.md"]),
    (("iez", "status", "--root", "lustre-2.10.1", "--fs", ""), ["lustrefs"]),
    (("iez", "place", "--root", "lustre-2.10.1", "--exclude", ""), [str(ost) for ost in range(7)]),
    (("iez", "place", "--root", "lustre-2.10.1", "-x", "0,1,"), [f"0,1,{ost}" for ost in range(2, 7)]),
)


class Offered(unittest.TestCase):
    maxDiff = None

    def test_all_commands(self):
        self.assertEqual(offered_by_bash("iez", ""), sorted(COMMAND_NAMES))
        self.assertEqual(sorted(offered_by_fish("iez", "")), sorted(COMMAND_NAMES))

    def test_in_bash(self):
        for words, offered in OFFERS:
            with self.subTest(words=words):
                self.assertEqual(offered_by_bash(*words), sorted(offered))

    def test_in_fish(self):
        for words, offered in OFFERS:
            with self.subTest(words=words):
                self.assertEqual(sorted(offered_by_fish(*words)), sorted(offered))

    def test_names_of_files_and_folders(self):
        folders = ["lustre-2.10.1", "lustre-2.17.0-after", "lustre-2.17.0-before"]
        self.assertEqual(offered_by_bash("iez", "status", "--root", "lustre-2.1"), folders)
        self.assertEqual(sorted(offered_by_fish("iez", "status", "--root", "lustre-2.1")), [f"{name}/" for name in folders])
        # Where a folder is wanted no other file is offered.
        self.assertEqual(offered_by_bash("iez", "jobs", "prolog", "--state", "S"), [])
        self.assertEqual(offered_by_fish("iez", "jobs", "prolog", "--state", "S"), {})

    def test_quoted_names_in_fish(self):
        """What is typed with quotes or backslashes is completed as what it means."""
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "my file").touch()
            for typed in ("my", "my\\ f", "'my f"):
                self.assertEqual(offered_by_fish("iez", "trace", "show", typed, cwd=folder), {"my file": ""}, typed)

    def test_values_behind_an_equals_sign(self):
        # As bash splits it, of which it replaces the last word only.
        environment = {"COMP_WORDBREAKS": " =:"}
        words = ("iez", "top", "--sort", "=", "r")
        script = ('source <(iez completion bash); COMP_WORDBREAKS=" =:"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="iez top --sort=r"; '
                  'COMP_POINT=${#COMP_LINE}; _iez; echo "${COMPREPLY[@]}"')
        result = subprocess.run([shell("bash"), "--norc", "-uc", script, "bash", *words], capture_output=True, text=True, check=True, timeout=60,
                                env={**ENVIRONMENT, **environment})
        self.assertEqual(result.stdout, "rate read\n")
        self.assertEqual(sorted(offered_by_fish("iez", "top", "--sort=r")), ["--sort=rate", "--sort=read"])
        self.assertEqual(sorted(offered_by_fish("iez", "top", "--root=lustre-2.10")), ["--root=lustre-2.10.1/"])

    def test_descriptions_where_the_shell_shows_them(self):
        self.assertIn("OSSs and OSTs", offered_by_fish("iez", "stat")["status"])
        self.assertIn("Largest first", offered_by_fish("iez", "top", "--sort")["--sort"])
        self.assertRegex(offered_by_fish("iez", "place", "--root", "lustre-2.10.1", "--exclude", "3")["3"], r"lustrefs-OST0003, \d+\.\d % used")

    def test_every_option_is_offered(self):
        def told(*command):
            return set(re.findall(r"(?m)^  (?:-\w,)?(--[\w-]+)", run(*command, "--help").stdout))

        everywhere = told()  # the options of iez itself may stand behind any command
        for command in COMMANDS:
            # The options of a command may stand behind its subcommands, too.
            above = set().union(*(told(*command[:n]) for n in range(1, len(command))))
            if command == ("help",):
                above = set()
            self.assertEqual(set(offered_by_bash("iez", *command, "--")), (told(*command) | above | everywhere), command)

    def test_a_command_behind_dashes_is_completed_as_one(self):
        self.assertIn("xargs", offered_by_bash("iez", "run", "--", "xarg"))
        self.assertEqual(offered_by_bash("iez", "run", "--", "cat", "SOU"), ["SOURCES.md"])
        self.assertIn("xargs", offered_by_fish("iez", "tune", "--time", "--", "xarg"))
        self.assertEqual(sorted(offered_by_fish("iez", "run", "--", "cat", "SOU")), ["SOURCES.md"])


class Interactive(unittest.TestCase):
    """Keys on a terminal, in the shells themselves."""

    def shell(self, name, **options):
        made = Shell(name, **options)
        self.addCleanup(made.close)
        return made

    def test_lines(self):
        for name in ("bash", "zsh"):
            with self.subTest(shell=name):
                at = self.shell(name)
                for typed, line in (("iez stat", "iez status"), ("iez top --sort wr", "iez top --sort write"), ("iez top --sort=wr", "iez top --sort=write"),
                                    ("iez layout show --raw SOU", "iez layout show --raw SOURCES.md"), ("iez run --trace-dir get", "iez run --trace-dir get_param/"),
                                    ("iez status --root=lustre-2.17.0-a", "iez status --root=lustre-2.17.0-after/"), ("iez run -- mktem", "iez run -- mktemp"),
                                    ("iez place --root lustre-2.10.1 -x 0,1,2,3,4,5,", "iez place --root lustre-2.10.1 -x 0,1,2,3,4,5,6")):
                    # zsh takes the slash behind a directory away when the line goes on elsewhere.
                    self.assertEqual(at.completed(typed).rstrip("/ "), line.rstrip("/"), (name, typed))

    def test_zsh_shows_descriptions(self):
        at = self.shell("zsh")
        shown = at.listed("iez top --s", "Largest first")
        self.assertRegex(shown, r"--since +-- An earlier capture of the same servers")
        self.assertRegex(shown, r"--sort +-- Largest first")

    def test_found_where_it_is_installed(self):
        """As a package brings it: nobody sources anything."""
        with tempfile.TemporaryDirectory() as folder:
            installed = pathlib.Path(folder)
            result = subprocess.run(["cmake", "--install", PROGRAMS.parents[1], "--prefix", installed], capture_output=True, text=True, check=False,
                                    timeout=300)
            self.assertEqual(result.returncode, 0, result.stderr)
            share = installed / "share"
            for name in ("bash", "zsh", "fish"):
                where = {"bash": "bash-completion/completions/iez", "zsh": "zsh/site-functions/_iez", "fish": "fish/vendor_completions.d/iez.fish"}[name]
                self.assertEqual((share / where).read_text(encoding="utf-8"), run("completion", name).stdout)
            at = self.shell("zsh", setup=f"PS1='> '; fpath=({share}/zsh/site-functions $fpath); autoload -Uz compinit; compinit -u -D")
            self.assertEqual(at.completed("iez stat").split(), ["iez", "status"])
            self.assertEqual(at.completed("iez top --sort wr").split(), ["iez", "top", "--sort", "write"])
            found = subprocess.run([shell("fish"), "--no-config", "-c", f"set -p fish_complete_path {share}/fish/vendor_completions.d; complete -C 'iez stat'"],
                                   capture_output=True, text=True, check=True, timeout=60, env={**ENVIRONMENT, "HOME": folder})
            self.assertIn("status\t", found.stdout)


class Gathered(FolderCase):
    def test_applications(self):
        state = {"IEZ_STATE": str(self.folder)}
        self.assertEqual(offered_by_bash("iez", "app", "show", "", environment=state), [])
        known = (ROOT / "tests/fuzz/corpus/store_lines/all_kinds").read_text(encoding="utf-8")
        known = known.replace('"owner":"ann"', f'"owner":"{pwd.getpwuid(os.getuid()).pw_name}"')
        subprocess.run([IEZ, "db", "import", "-"], check=True, capture_output=True, timeout=60, env={**ENVIRONMENT, **state}, input=known, text=True)
        for words in (("iez", "app", "show", ""), ("iez", "app", "forget", ""), ("iez", "run", "--app", ""), ("iez", "plan", "explain", "--app", ""),
                      ("iez", "plan", "expire", ""), ("iez", "app", "show", "--store", str(self.folder / "iez.db"), "")):
            self.assertEqual(offered_by_bash(*words, environment=state), ["ior"], words)
            self.assertRegex(offered_by_fish(*words, environment=state)["ior"], r"^\d+ runs?$")
        # A plan is a file, or an application.
        self.assertEqual(offered_by_bash("iez", "plan", "show", "", environment=state, cwd=self.folder), sorted(["ior", *os.listdir(self.folder)]))

    def test_osts_of_a_lab(self):
        lab = self.folder / "lab"
        subprocess.run([IEZ, "lab", "up", "--dir", lab, "--oss", "1", "--osts", "3"], check=True, capture_output=True, timeout=120)
        self.addCleanup(subprocess.run, [IEZ, "lab", "down", "--dir", lab], check=True, capture_output=True, timeout=120)
        mount = lab / "mnt/client0"
        self.assertEqual(offered_by_bash("iez", "layout", "set", "--osts", "", cwd=mount), ["0", "1", "2"])
        self.assertEqual(offered_by_bash("iez", "layout", "set", "--osts", "2,", cwd=mount), ["2,0", "2,1"])
        self.assertRegex(offered_by_fish("iez", "layout", "set", "--osts", "", cwd=mount)["1"], r"-OST0001, \d+\.\d % used")
        # From elsewhere, among those of whatever else is mounted.
        self.assertLessEqual({"0", "1", "2"}, set(offered_by_bash("iez", "place", "--exclude", "")))
        parts = offered_by_bash("iez", "lab", "fault", "--dir", str(lab), "slow", "")
        self.assertEqual(parts, ["client0", "mds", "oss0", "ost0", "ost1", "ost2"])
        self.assertEqual(offered_by_bash("iez", "lab", "fault", "slow", "ost", environment={"IEZ_LAB": str(lab)}), ["ost0", "ost1", "ost2"])

    def test_labs_by_name(self):
        self.file("iez/lab/mine/lab.json", "{}")
        self.file("iez/lab/none/other", "")
        self.assertEqual(offered_by_bash("iez", "lab", "down", "--name", "", environment={"XDG_STATE_HOME": str(self.folder)}), ["mine"])

    def test_names_are_no_commands(self):
        """A name that a shell would run is put into the line as it is."""
        names = ("a$(touch ran)", "b`touch ran`", "c;touch ran", "d&e|f", "g'h\"i\\j", "k l", "m:n=o")
        for name in names:
            self.file(f"state/iez/lab/{name}/lab.json", "{}")
        work = self.folder / "work"
        work.mkdir()
        state = {"XDG_STATE_HOME": str(self.folder / "state"), "HOME": str(self.folder)}
        self.assertEqual(sorted(offered_by_fish("iez", "lab", "down", "--name", "", environment=state, cwd=work)), sorted(names))
        for shell_name in ("bash", "zsh"):
            at = Shell(shell_name, cwd=work, environment=state)
            self.addCleanup(at.close)
            for name in names:
                self.assertEqual(at.completed(f"iez lab down --name {name[0]}").rstrip(), f"iez lab down --name {name}", shell_name)
        self.assertEqual(os.listdir(work), [])

    def test_osts_of_a_described_cluster(self):
        cluster = str(ROOT / "examples/clusters/iez-testbed.toml")
        self.assertEqual(offered_by_bash("iez", "place", "--cluster", cluster, "-x", "1"), ["1", "10", "11", "12", "13", "14"])

    def test_what_is_broken_offers_nothing(self):
        bad = self.file("bad", b"\x00\x01 not a database")
        for words in (("app", "show", "--store", str(bad), ""), ("app", "show", "--store", "mysql://x@", ""), ("place", "--cluster", str(bad), "-x", ""),
                      ("place", "--root", str(self.folder / "nowhere"), "-x", ""), ("lab", "fault", "--dir", str(self.folder), "slow", ""),
                      ("nosuch", "--command", "")):
            result = run("complete", "--", *words)
            self.assertEqual((result.returncode, result.stderr, len(result.stdout.splitlines())), (0, "", 1), words)

    def test_a_server_that_does_not_answer_is_not_waited_for(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            begin = time.monotonic()
            result = run("complete", "--", "app", "show", "--store", f"mysql://iez@127.0.0.1:{silent.getsockname()[1]}/iez?tls=off", "")
            self.assertLess(time.monotonic() - begin, 5)
            self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
