#!/usr/bin/env python3
"""iez agent, agent watch and keys: real processes, on captures and on a lab; kill -9, restarts, keys, hostile parameters."""

import json
import os
import pathlib
import queue
import select
import shutil
import signal
import stat
import subprocess
import threading
import time
import unittest

import folder_case

ROOT = pathlib.Path(__file__).resolve().parents[2]
IEZ = os.environ.get("IEZ", str(ROOT / "build/dev/apps/iez/iez"))
DATA = pathlib.Path(os.environ.get("IEZ_TEST_DATA", ROOT / "tests/fixtures"))
CAPTURE = DATA / "captures/lustre-2.17.0-after"
CAN_MOUNT = os.path.exists("/dev/fuse") and shutil.which("fusermount3") is not None
PATIENCE = 60  # seconds; nothing takes that long
ALONE = {**os.environ, "XDG_CONFIG_HOME": "/nonexistent"}


def iez(*arguments, check=True):
    result = subprocess.run([IEZ, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=PATIENCE,
                            stdin=subprocess.DEVNULL, env=ALONE)
    if check and result.returncode != 0:
        raise AssertionError(f"{arguments}: {result.returncode}: {result.stderr}")
    return result


class Watch:
    """`iez agent watch --json`, its pictures as they come."""

    def __init__(self, case, *extra, keys=None, ask="1s"):
        more = ["--keys", str(keys)] if keys else []
        self.process = subprocess.Popen([IEZ, "agent", *case.endpoints, *more, "watch", "--json", "--every", "200ms", "--ask", ask, *extra],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ALONE)
        case.addCleanup(self.stop)
        self.pictures = queue.Queue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.pictures.put(json.loads(line))

    def until(self, holds):
        """The first picture that it holds for."""
        end = time.monotonic() + PATIENCE
        last = None
        while time.monotonic() < end:
            try:
                last = self.pictures.get(timeout=1)
            except queue.Empty:
                assert self.process.poll() is None, self.process.stderr.read()
                continue
            if holds(last):
                return last
        raise AssertionError(f"never held; last: {json.dumps(last)[:3000]}")

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=PATIENCE)
        self.reader.join(timeout=PATIENCE)
        self.process.stdout.close()
        self.process.stderr.close()


def agents_of(picture):
    return {agent["name"]: agent for agent in picture["agents"]}


class AgentCase(folder_case.FolderCase):
    def setUp(self):
        super().setUp()
        self.endpoints = ["--samples", f"ipc://{self.folder}/s", "--requests", f"ipc://{self.folder}/r"]

    def start(self, *arguments):
        process = subprocess.Popen([IEZ, "agent", *self.endpoints, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   text=True, env=ALONE)
        self.addCleanup(self.end, process)
        return process

    def line(self, process):
        """The next that it says."""
        self.assertTrue(select.select([process.stderr], [], [], PATIENCE)[0], "it says nothing")
        return process.stderr.readline()

    @staticmethod
    def end(process, how=signal.SIGTERM):
        if process.poll() is None:
            process.send_signal(how)
        status = process.wait(timeout=PATIENCE)
        if not process.stderr.closed:
            process.stderr.close()
        return status


class Beside(AgentCase):
    def test_watching_beside_a_coordinator(self):
        """Both listen where agents publish to: who came second is told who is there, and whom to ask."""
        with subprocess.Popen([IEZ, "serve", "--listen", "127.0.0.1:0", "--samples", "tcp://127.0.0.1:*", "--requests", "tcp://127.0.0.1:*", "--state",
                               self.folder / "state", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=ALONE) as coordinator:
            try:
                about = json.loads(coordinator.stdout.readline())
                for taken in ("--samples", "--requests"):
                    endpoints = {"--samples": f"ipc://{self.folder}/s", "--requests": f"ipc://{self.folder}/r"}
                    endpoints[taken] = about[taken.removeprefix("--")]
                    watch = iez("agent", *(word for pair in endpoints.items() for word in pair), "watch", check=False)
                    self.assertEqual((watch.returncode, watch.stdout), (1, ""))
                    self.assertIn(f"{endpoints[taken]}: Address already in use: a coordinator listens there", watch.stderr)
                    self.assertIn("'iez serve status' asks it", watch.stderr)
                told = iez("serve", "status", about["url"])  # and that answers
                self.assertIn("agents", told.stdout)
            finally:
                coordinator.terminate()


class Samples(AgentCase):
    def test_a_life(self):
        """It is heard, killed, started again, and leaves; the coordinator is restarted in between."""
        watch = Watch(self)
        agent = self.start("--root", CAPTURE, "--name", "a")
        first = agents_of(watch.until(lambda p: agents_of(p).get("a", {}).get("samples", 0) >= 1))["a"]
        self.assertEqual((first["state"], first["roles"], first["targets"]), ("live", "oss+mds+client", 6))
        # Asked for one sample a second, it does not wait for its 60.
        watch.until(lambda p: agents_of(p)["a"]["interval"] == 1 and agents_of(p)["a"]["samples"] >= 3)
        self.assertEqual(self.end(agent, signal.SIGKILL), -signal.SIGKILL)
        late = watch.until(lambda p: agents_of(p)["a"]["state"] == "late")
        self.assertTrue(all(ost["stale"] for ost in late["file_systems"][0]["osts"]))
        self.assertEqual(len(late["file_systems"][0]["osts"]), 6)  # not forgotten
        agent = self.start("--root", CAPTURE, "--name", "a")
        back = watch.until(lambda p: agents_of(p)["a"]["state"] == "live")
        self.assertEqual(agents_of(back)["a"]["restarts"], 1)
        self.assertNotEqual(agents_of(back)["a"]["instance"], first["instance"])
        self.assertFalse(any(ost["stale"] for ost in back["file_systems"][0]["osts"]))
        watch.stop()
        watch = Watch(self)
        again = watch.until(lambda p: agents_of(p).get("a", {}).get("samples", 0) >= 2)
        self.assertEqual(agents_of(again)["a"]["missing"], 0)
        self.assertEqual(self.end(agent), 0)
        watch.until(lambda p: agents_of(p)["a"]["state"] == "left")

    def test_once(self):
        result = subprocess.Popen([IEZ, "agent", *self.endpoints, "--once", "--root", CAPTURE], stderr=subprocess.PIPE, text=True, env=ALONE)
        watch = Watch(self)
        picture = watch.until(lambda p: p["agents"])
        _, talk = result.communicate(timeout=PATIENCE)
        self.assertEqual((result.returncode, talk), (0, ""))
        self.assertEqual(picture["counters"]["taken"], 1)

    def test_nobody_there(self):
        result = iez("agent", *self.endpoints, "--once", "--root", CAPTURE, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("nobody takes samples there: nobody answers there", result.stderr)

    def test_nobody_there_is_told_once_and_when_it_is_over(self):
        agent = self.start("--root", CAPTURE, "--name", "a", "--interval", "1s")
        self.assertIn(f"ipc://{self.folder}/s: samples are dropped: nobody answers there", self.line(agent))
        self.assertFalse(select.select([agent.stderr], [], [], 7)[0], "it was told")
        watch = Watch(self)
        watch.until(lambda p: agents_of(p).get("a", {}).get("samples", 0) >= 1)
        self.assertIn(f"ipc://{self.folder}/s: the coordinator takes samples now", self.line(agent))

    def test_a_name_that_nobody_has_is_told(self):
        self.endpoints[1] = "tcp://nosuchhost.invalid:9851"
        agent = self.start("--root", CAPTURE, "--name", "a", "--keys", self.keys_of_nobody())
        self.assertRegex(self.line(agent), r"tcp://nosuchhost\.invalid:9851: samples are dropped: nosuchhost\.invalid: \w+")

    def keys_of_nobody(self):
        iez("keys", "init", "--dir", self.folder / "nobody")
        return self.folder / "nobody"

    def test_bad_parameters_do_not_end_it(self):
        tree = self.folder / "tree"
        shutil.copytree(CAPTURE, tree, symlinks=True)
        totals = sorted(tree.rglob("obdfilter/*/kbytestotal"))
        self.assertEqual(len(totals), 6)
        totals[0].write_bytes(b"\xff\x00rubbish")
        totals[1].unlink()
        os.mkfifo(totals[1])
        watch = Watch(self)
        agent = self.start("--root", tree, "--name", "a")
        bad = watch.until(lambda p: agents_of(p).get("a", {}).get("samples", 0) >= 2)
        self.assertGreater(agents_of(bad)["a"]["skipped"], 0)
        # What a server cannot tell, the MDS on the same node does.
        self.assertEqual([ost["seen_by"] for ost in bad["file_systems"][0]["osts"]].count("obdfilter"), 4)
        shutil.rmtree(tree)
        watch.until(lambda p: agents_of(p)["a"]["targets"] == 0 and agents_of(p)["a"]["state"] == "live")
        self.assertIsNone(agent.poll())

    def test_print_is_what_status_says(self):
        sample = json.loads(iez("agent", "--print", "--root", CAPTURE, "--name", "x").stdout)
        status = json.loads(iez("status", "--json", "--root", CAPTURE).stdout)
        self.assertEqual(sample["agent"], "x")
        found = {(ost["index"], ost["total"], ost["free"], ost["available"]) for ost in sample["file_systems"][0]["osts"]}
        listed = status["filesystems"][0]["osts"]
        self.assertEqual(found, {(ost["index"], ost["total_bytes"], ost["free_bytes"], ost["available_bytes"]) for ost in listed})


class Keys(AgentCase):
    def setUp(self):
        super().setUp()
        self.keys = self.folder / "keys"
        iez("keys", "init", "--dir", self.keys)

    def agent_folder(self, name, source):
        folder = self.folder / name
        folder.mkdir()
        shutil.copy(self.keys / "coordinator.pub", folder)
        shutil.copy(source, folder / "agent.key")
        return folder

    def test_files(self):
        for name, mode in (("coordinator.key", 0o600), ("agent.key", 0o600), ("coordinator.pub", 0o644), ("agent.pub", 0o644)):
            self.assertEqual(stat.S_IMODE((self.keys / name).stat().st_mode), mode)
        before = (self.keys / "agent.key").read_text(encoding="ascii")
        result = iez("keys", "init", "--dir", self.keys, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("--force", result.stderr)
        self.assertEqual((self.keys / "agent.key").read_text(encoding="ascii"), before)
        shown = iez("keys", "show", "agent", "--dir", self.keys).stdout.strip()
        self.assertEqual(len(shown), 40)
        iez("keys", "add", "oss2", "--public", shown, "--dir", self.keys)
        listed = json.loads(iez("keys", "list", "--json", "--dir", self.keys).stdout)["keys"]
        self.assertEqual([(key["name"], key["secret_here"]) for key in listed], [("coordinator", True), ("agent", True), ("oss2", False)])
        self.assertEqual(iez("keys", "add", "../x", "--dir", self.keys, check=False).returncode, 2)
        secret = before.split()[2]
        for command in (("list",), ("list", "--json"), ("show", "agent")):
            self.assertNotIn(secret, iez("keys", *command, "--dir", self.keys).stdout)

    def test_who_is_let_in(self):
        iez("keys", "add", "oss1", "--dir", self.keys)
        strangers = self.folder / "strangers"
        iez("keys", "init", "--dir", strangers)
        watch = Watch(self, keys=self.keys)
        self.start("--root", CAPTURE, "--name", "oss1", "--keys", self.agent_folder("own", self.keys / "agents/oss1.key"))
        self.start("--root", CAPTURE, "--name", "any", "--keys", self.agent_folder("shared", self.keys / "agent.key"))
        self.start("--root", CAPTURE, "--name", "stranger", "--keys", self.agent_folder("wrong", strangers / "agent.key"))
        self.start("--root", CAPTURE, "--name", "bare")
        picture = watch.until(lambda p: {"oss1", "any"} <= set(agents_of(p)) and p["refused_keys"] > 0 and p["failed_handshakes"] > 0)
        self.assertEqual(set(agents_of(picture)), {"oss1", "any"})
        # Requests are heard over the encrypted way.
        watch.until(lambda p: agents_of(p)["oss1"]["interval"] == 1)
        # The key of oss1 does not speak for another.
        iez("agent", *self.endpoints, "--keys", self.folder / "own", "--name", "mds", "--once", "--root", CAPTURE)
        picture = watch.until(lambda p: p["counters"]["forged"] > 0)
        self.assertEqual(set(agents_of(picture)), {"oss1", "any"})

    def test_refused_keys_are_told(self):
        strangers = self.folder / "strangers"
        iez("keys", "init", "--dir", strangers)
        Watch(self, keys=self.keys)
        agents = {keys: self.start("--root", CAPTURE, "--name", "a", "--keys", keys)
                  for keys in (strangers, self.agent_folder("wrong", strangers / "agent.key"))}
        bare = self.start("--root", CAPTURE, "--name", "bare")
        for keys, agent in agents.items():
            self.assertIn(f"the keys in {keys} are refused: are coordinator.pub and agent.key of that coordinator?", self.line(agent))
        self.assertIn("who listens there refuses: does it want keys?", self.line(bare))

    def test_refusals(self):
        key = self.keys / "agent.key"
        key.chmod(0o644)
        result = iez("agent", *self.endpoints, "--keys", self.keys, "--once", check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("chmod 600", result.stderr)
        for command in (("agent", "--samples", "tcp://10.0.0.1:1"), ("agent", "--samples", "tcp://*:1", "watch")):
            result = iez(*command, check=False)
            self.assertEqual(result.returncode, 2)
            self.assertIn("iez keys init", result.stderr)


@unittest.skipUnless(CAN_MOUNT, "no FUSE on this machine")
class Lab(AgentCase):
    def test_agents_of_a_lab(self):
        lab = self.folder / "lab"
        self.addCleanup(iez, "lab", "down", "--dir", lab, check=False)
        iez("lab", "up", "--dir", lab, "--oss", 2, "--osts", 2, "--ost-size", "64M")
        watch = Watch(self)
        nodes = {node: self.start("--root", lab / "params" / node, "--name", node) for node in ("oss0", "oss1", "mds", "client0")}
        picture = watch.until(lambda p: len(agents_of(p)) == 4 and len(p["file_systems"][0]["osts"]) == 4
                              and all(ost["seen_by"] == "obdfilter" for ost in p["file_systems"][0]["osts"]))
        osts = picture["file_systems"][0]["osts"]
        self.assertEqual([ost["agent"] for ost in osts], ["oss0", "oss0", "oss1", "oss1"])
        self.assertEqual(len(picture["file_systems"][0]["servers"]), 2)
        watch.until(lambda p: all(agent["interval"] == 1 for agent in p["agents"]))
        # The agent of a server dies: the MDS tells of its OSTs, and they are still on that server.
        self.end(nodes["oss1"], signal.SIGKILL)
        picture = watch.until(lambda p: {ost["seen_by"] for ost in p["file_systems"][0]["osts"][2:]} == {"osp"})
        after = picture["file_systems"][0]["osts"]
        self.assertEqual([ost["server"] for ost in after], [ost["server"] for ost in osts])
        self.assertFalse(any(ost["stale"] for ost in after))


if __name__ == "__main__":
    unittest.main()
