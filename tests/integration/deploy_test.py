#!/usr/bin/env python3
"""docs/guide/deploy.md, word for word: three nodes, a lab for a Lustre, and `iez doctor` is content on each of them.

A node is a folder with an /etc, /home, /root, /usr/local and /var of its own, over which commands run in a mount namespace; all share a network
of their own. Two commands are stand-ins, since there is neither systemd nor ssh: `systemctl enable --now UNIT` starts what the unit
says, as its user and with its variables; `scp mds1:FILE ... TO` copies from that node's folder. systemd-analyze reads the real units.
"""

import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(os.environ.get("IEZ_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
IEZ = pathlib.Path(os.environ.get("IEZ", ROOT / "build/dev/apps/iez/iez")).resolve()
PAGE = ROOT / "docs/guide/deploy.md"
LIMIT = 120
NODES = {"1": "mds1", "2": "oss1", "3": "client1"}  # by section
OWN = ("etc", "home", "root", "usr/local", "var/lib", "var/spool")

SYSTEMCTL = r"""#!/usr/bin/env python3
import os, pathlib, pwd, shlex, subprocess, sys
words = sys.argv[1:]
if words == ["daemon-reload"]: sys.exit(0)
assert words[:2] == ["enable", "--now"], words
unit = pathlib.Path(f"/usr/local/lib/systemd/system/{words[2]}.service").read_text()
fields = [line.split("=", 1) for line in unit.splitlines() if "=" in line and not line.startswith("#")]
one = dict(fields)
user = pwd.getpwnam(one.get("User", "root"))
environment = {"PATH": os.environ["PATH"], **dict(value.split("=", 1) for key, value in fields if key == "Environment")}
for name in ("IEZ_ROOT",):  # a lab's parameters are not where those of a kernel are
    if name in os.environ: environment[name] = os.environ[name]
if "StateDirectory" in one:
    folder = pathlib.Path("/var/lib") / one["StateDirectory"]
    folder.mkdir(mode=0o700, exist_ok=True)
    os.chown(folder, user.pw_uid, user.pw_gid)
log = open(f"/var/lib/{words[2]}.log", "w")
busy = ["--cpu-limit", "1", "--memory-limit", "1"] if words[2] == "iez-serve" else []  # tests that run beside this one
process = subprocess.Popen(["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--init-groups", "--no-new-privs",
                            *shlex.split(one["ExecStart"]), *busy], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                           umask=int(one.get("UMask", "022"), 8), start_new_session=True)
with open(os.environ["STARTED"], "a") as started: started.write(f"{process.pid}\n")
try:
    sys.exit(f"{words[2]}: ended with {process.wait(1)}: " + pathlib.Path(log.name).read_text())  # that it stays is looked at later
except subprocess.TimeoutExpired:
    pass
"""
SCP = r"""#!/bin/sh -e
for to in "$@"; do :; done
while [ $# -gt 1 ]; do
  case $1 in mds1:/*) cp "$MDS1/${1#mds1:/}" "$to";; *) echo "scp: $1" >&2; exit 1;; esac
  shift
done
"""


def run(command, check=True, **options):
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, timeout=LIMIT,
                            stdin=subprocess.DEVNULL, **options)
    if check and result.returncode != 0:
        raise AssertionError(f"{command}: {result.returncode}: {result.stdout}{result.stderr}")
    return result


def bring_loopback_up():
    """Of a network of its own, which begins without any."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        fcntl.ioctl(asking, 0x8914, struct.pack("16sh", b"lo", 0x41) + bytes(14))  # SIOCSIFFLAGS, IFF_UP | IFF_RUNNING


def steps():
    """(section, kind, the line before, text) of each block of the numbered sections."""
    text = PAGE.read_text(encoding="utf-8")
    for number, body in re.findall(r"(?ms)^## (\d)\. [^\n]*\n(.*?)(?=^## |\Z)", text):
        for before, kind, block in re.findall(r"(?ms)^([^\n]*)\n\n?```(sh|toml)\n(.*?)^```$", body):
            yield number, kind, before, block


@unittest.skipUnless(os.geteuid() == 0, "only root makes namespaces and users")
@unittest.skipUnless(os.path.exists("/dev/fuse") and shutil.which("fusermount3"), "FUSE is not there")
class Deploy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="iez-deploy-")
        self.addCleanup(folder.cleanup)
        self.base = pathlib.Path(folder.name)
        self.base.chmod(0o755)
        self.started = self.base / "started"
        self.lab = self.base / "lab"
        if not os.path.isdir("/scratch"):
            os.mkdir("/scratch")
            self.addCleanup(os.rmdir, "/scratch")
        self.addCleanup(self.end_services)
        tools = self.base / "tools"
        tools.mkdir()
        for name, text in (("systemctl", SYSTEMCTL), ("scp", SCP)):
            (tools / name).write_text(text, encoding="utf-8")
            (tools / name).chmod(0o755)
        self.installed = self.base / "installed/usr/local"
        run(["cmake", "--install", IEZ.parents[2], "--prefix", "/usr/local"], env={**os.environ, "DESTDIR": str(self.base / "installed")})
        for name in NODES.values():
            node = self.base / name
            for own in OWN:
                (node / own).mkdir(parents=True)
            run(["cp", "-a", "/etc/.", node / "etc"])
            shutil.rmtree(node / "etc/iez", ignore_errors=True)
            run(["cp", "-a", "--link", f"{self.installed}/.", node / "usr/local"])
            with open(node / "etc/hosts", "a", encoding="utf-8") as hosts:
                hosts.write("\n127.0.0.1 mds1\n")
            self.on(name, "id -u ann >/dev/null 2>&1 || useradd --create-home --user-group ann")
        self.addCleanup(lambda: run([IEZ, "lab", "down", "--dir", self.lab], check=False))
        run([IEZ, "lab", "up", "--dir", self.lab, "--name", "scratch", "--oss", "1", "--osts", "4", "--ost-size", "64M"])

    def end_services(self):
        pids = [int(line) for line in self.started.read_text(encoding="utf-8").split()] if self.started.exists() else []
        for pid in pids:
            os.kill(pid, signal.SIGTERM)
        for pid in pids:
            for _ in range(100):
                if not os.path.exists(f"/proc/{pid}"):
                    break
                time.sleep(0.1)

    def on(self, name, script, check=True, **variables):
        node = self.base / name
        binds = " && ".join(f"mount --bind {node}/{own} /{own}" for own in OWN)
        if os.path.ismount(self.lab / "mnt/client0"):
            binds += f" && mount --bind {self.lab}/mnt/client0 /scratch"
        root = {"mds1": "mds", "oss1": "oss0", "client1": "client0"}[name]
        environment = {"PATH": f"{self.base}/tools:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8",
                       "MDS1": str(self.base / "mds1"), "STARTED": str(self.started),
                       "IEZ_ROOT": str(self.base / "lab/params" / root), **variables}
        return run(["unshare", "--mount", "bash", "-e", "-o", "pipefail", "-c", f"{binds}\ncd /\n{script}"], check=check, env=environment)

    def test_the_page(self):
        done = []
        healthy = 0
        for section, kind, before, block in steps():
            if section not in NODES:
                continue
            name = NODES[section]
            done.append((section, kind))
            if kind == "toml":
                path = re.search(r"`(/etc/[^`]+)`", before)[1]
                (self.base / name / path[1:]).write_text(block, encoding="utf-8")
                continue
            result = self.on(name, block)
            healthy += result.stdout.count("\nok    library")
            self.assertNotIn("FAIL", result.stdout)
            if section == "2" and "doctor" in block:
                self.assertIn("ok    agent keys", result.stdout)
                self.wait_for_agent()
            if section == "3" and "doctor" in block:
                self.assertRegex(result.stdout, r"ok    coordinator +https://mds1:9850: knows 4 OSTs")
            if section == "1" and "doctor" in block:
                self.assertRegex(result.stdout, r"ok    serve keys .*\nok    serve tokens .* 2 tokens\nok    serve certificate .* for mds1, until")
        self.assertEqual(done, [("1", "sh"), ("1", "toml"), ("1", "sh"), ("1", "sh"), ("2", "sh"), ("2", "toml"), ("2", "sh"), ("3", "sh"),
                                ("3", "toml"), ("3", "sh")])
        self.assertEqual(healthy, 3)
        self.what_is_private()
        self.what_is_not_for_users()
        self.the_loop()
        self.what_is_wrong_is_told()

    def wait_for_agent(self):
        for _ in range(100):
            told = self.on("mds1", "iez serve status https://mds1:9850 --token-file /root/iez-tokens/prometheus --ca-file /etc/iez/cert.pem --json")
            if json.loads(told.stdout)["agents"] == {"live": 1}:
                return
            time.sleep(0.2)
        self.fail(f"the coordinator never heard of the agent: {told.stdout}")

    def what_is_private(self):
        for name, path, mode in (("mds1", "etc/iez/tokens", 0o600), ("mds1", "etc/iez/key.pem", 0o600), ("mds1", "root/iez-tokens/ann", 0o600),
                                 ("oss1", "etc/iez/keys/agent.key", 0o600), ("client1", "home/ann/.config/iez/token", 0o600)):
            with self.subTest(path=path):
                self.assertEqual((self.base / name / path).stat().st_mode & 0o777, mode)

    def what_is_not_for_users(self):
        """A user of a node with a service is not told to mend what the service alone may read."""
        for name, whats in (("mds1", ("serve keys", "serve tokens", "serve certificate")), ("oss1", ("agent keys",))):
            with self.subTest(name=name):
                result = self.on(name, "runuser -u ann -- env HOME=/home/ann iez doctor", check=False)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                for what in whats:
                    self.assertRegex(re.sub(r"\n {25}", " ", result.stdout), rf"(?m)^-     {what} .*: not for this user$")

    def the_loop(self):
        """ann's runs are planned by the coordinator, which sees that the folder is hers. The lab is /scratch."""
        script = ("install -d -o ann /scratch/ann && cd /scratch/ann && runuser -u ann -- env HOME=/home/ann iez run --json --app loop -- "
                  "sh -c 'for i in 1 2 3 4 5 6; do dd if=/dev/zero of=o.$i bs=64k count=$((8 * i)) status=none; done'")
        result = self.on("client1", script, IEZ_TOKEN_FILE="/home/ann/.config/iez/token", IEZ_PLACE_WHEN="always", IEZ_PLACE_LEAST_FILE="1")
        told = json.loads(result.stderr.splitlines()[-1])
        self.assertEqual((told["planner"], told["notes"]), ("https://mds1:9850", []), told)

    def what_is_wrong_is_told(self):
        """Each of these stops the coordinator, or a user; doctor says what it is and what to do."""
        token = {"IEZ_TOKEN_FILE": "/home/ann/.config/iez/token"}
        for name, spoil, mend, said, variables in (
                ("mds1", "chown -R root /etc/iez/keys", "chown -R iez /etc/iez/keys", "not for user iez, whom the coordinator runs as", {}),
                ("mds1", "chown root /etc/iez/key.pem", "chown iez /etc/iez/key.pem", "not for user iez", {}),
                ("mds1", "chmod 644 /etc/iez/tokens", "chmod 600 /etc/iez/tokens", "chmod 600 /etc/iez/tokens", {}),
                ("mds1", "mv /etc/iez/key.pem /tmp/k.pem.iez", "mv /tmp/k.pem.iez /etc/iez/key.pem", "key.pem: No such file", {}),
                ("oss1", "mv /etc/iez/keys/agent.key /etc/iez/k", "mv /etc/iez/k /etc/iez/keys/agent.key", "copy coordinator.pub and agent.key", {}),
                ("client1", "mv /etc/iez/ca.pem /etc/iez/c; cp /etc/ssl/certs/ca-certificates.crt /etc/iez/ca.pem 2>/dev/null || cp /etc/iez/iez.toml /etc/iez/ca.pem",
                 "mv /etc/iez/c /etc/iez/ca.pem", "(coordinator.ca_file)", token),
                ("client1", "sed -i s/9850/9/ /etc/iez/iez.toml", "sed -i s/:9/:9850/ /etc/iez/iez.toml", "nobody listens there", token),
                ("client1", "sed -i 's/^url/ulr/' /etc/iez/iez.toml", "sed -i 's/^ulr/url/' /etc/iez/iez.toml", "mend the file", token)):
            with self.subTest(spoil=spoil):
                self.on(name, spoil)
                result = self.on(name, "iez doctor", check=False, **variables)
                self.assertEqual(result.returncode, 1, result.stdout)
                self.assertIn(said, re.sub(r"\s+", " ", result.stdout))
                self.assertRegex(result.stderr, r"iez doctor: 1 of \d+ does not work")
                self.on(name, mend)
                again = self.on(name, "iez doctor --json", **variables)
                self.assertTrue(json.loads(again.stdout)["healthy"])
        without = self.on("client1", "iez doctor", check=False)
        self.assertIn("coordinator.token_file", without.stdout)

    def test_the_units(self):
        """As systemd reads them."""
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is not here")
        units = sorted((self.installed / "lib/systemd/system").glob("*.service"))
        self.assertEqual([unit.name for unit in units], ["iez-agent.service", "iez-db.service", "iez-serve.service"])
        for unit in units:
            result = run(["systemd-analyze", "verify", unit], check=False)
            told = [line for line in (result.stdout + result.stderr).splitlines() if "iez" in line and "is not executable" not in line
                    and "Command 'man " not in line]  # pages are elsewhere than here
            self.assertEqual(told, [])


if __name__ == "__main__":
    if os.geteuid() == 0 and os.environ.get("IEZ_DEPLOY_INSIDE") != "1":
        os.execvpe("unshare", ["unshare", "--net", "--mount", sys.executable, *sys.argv], {**os.environ, "IEZ_DEPLOY_INSIDE": "1"})
    if os.geteuid() == 0:
        bring_loopback_up()
    unittest.main()
