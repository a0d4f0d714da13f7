#!/usr/bin/env python3
"""iez serve: plans over HTTP, who may ask, what is refused, restarts and kill -9 at random moments, what Prometheus reads."""

import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import threading
import time
import unittest
import urllib.parse

from folder_case import FolderCase

ROOT = pathlib.Path(__file__).resolve().parents[2]
IEZ = os.environ.get("IEZ", str(ROOT / "build/dev/apps/iez/iez"))
CAPTURE = ROOT / "tests/fixtures/captures/lustre-2.17.0-after"
LONG = os.environ.get("IEZ_LONG") == "1"
WAIT = 30  # seconds
# As the first client sent it, with the fewest fields.
OLD_REQUEST = b'{"application":"old","files":[{"name":"/scratch/old/a","bytes":1048576}]}'


def request_of(application, files=4, size=1 << 20, folder="/nowhere/here", **more):
    rows = [{"name": f"{folder}/{application}.{i}", "bytes": size, "stripe_count": 2} for i in range(files)]
    return {"application": application, "files": rows, "always": True, **more}


class Server:
    """One iez serve, with the parameters of a capture instead of agents."""

    def __init__(self, folder, *options, root=CAPTURE):
        command = [IEZ, "serve", "--json", "--listen", "127.0.0.1:0", "--no-agents", "--state", str(folder), "--root", str(root)]
        # This machine is busy with other tests: the gate has tests of its own.
        command += [] if "--memory-limit" in options else ["--cpu-limit", "1", "--memory-limit", "1"]
        self.log = open(folder.parent / "serve.log", "ab")
        self.process = subprocess.Popen([*command, *map(str, options)], stdout=subprocess.PIPE, stderr=self.log, stdin=subprocess.DEVNULL)
        line = self.process.stdout.readline()
        if not line:
            self.end(signal.SIGKILL)
            raise AssertionError((folder.parent / "serve.log").read_text())
        self.about = json.loads(line)
        self.address = urllib.parse.urlsplit(self.about["url"])

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        status = self.process.wait(WAIT)
        self.process.stdout.close()
        self.log.close()
        return status

    def connect(self, context=None):
        host, port = self.address.hostname, self.address.port
        if context:
            return http.client.HTTPSConnection(host, port, timeout=WAIT, context=context)
        return http.client.HTTPConnection(host, port, timeout=WAIT)

    def ask(self, method, path, body=None, token=None, headers=None, connection=None):
        """Status, headers, and the body as JSON if it is such."""
        own = connection or self.connect()
        send = {"Content-Type": "application/json", **(headers or {})} if body is not None else dict(headers or {})
        if token:
            send["Authorization"] = f"Bearer {token}"
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        own.request(method, path, content, send)
        answer = own.getresponse()
        text = answer.read()
        if connection is None:
            own.close()
        kind = answer.headers.get("Content-Type", "")
        return answer.status, answer.headers, json.loads(text) if "json" in kind else text


class ServeCase(FolderCase):
    def serve(self, *options, root=CAPTURE):
        server = Server(self.folder / "state", *options, root=root)
        self.addCleanup(lambda: server.process.poll() is None and server.end(signal.SIGKILL))
        return server

    def problem(self, answer, status, word):
        self.assertEqual(answer[0], status, answer)
        self.assertEqual(answer[1]["Content-Type"], "application/problem+json")
        self.assertEqual(answer[2]["type"], f"urn:iez:{word}")
        self.assertEqual(answer[2]["status"], status)


class PlansTest(ServeCase):
    def test_life_of_a_plan(self):
        server = self.serve()
        status, _, plan = server.ask("POST", "/v1/plans", request_of("ior", spread=["/nowhere/here/"]))
        self.assertEqual(status, 200)
        self.assertEqual([len(file["layouts"][0][1]) for file in plan["files"]], [2, 2, 2, 2])
        self.assertTrue(plan["weights"] and plan["reasons"])
        path = f"/v1/plans/{plan['plan']}"
        self.assertEqual(server.ask("GET", path)[2]["files"], plan["files"])
        self.assertEqual(server.ask("GET", f"{path}?begins=true")[2]["files"], plan["files"], "nothing is known of others' traffic")
        [row] = server.ask("GET", "/v1/plans?application=ior")[2]["plans"]
        self.assertEqual((row["files"], row["created"], row["reserved"]), (4, 0, 4 << 20))
        reserved = sum(ost["reserved"] for ost in server.ask("GET", "/v1/cluster")[2]["file_systems"][0]["osts"])
        self.assertEqual(reserved, 4 << 20)
        self.assertEqual(server.ask("POST", f"{path}/created", {"files": [[0], [1, 1]]})[0], 204)
        self.assertEqual(server.ask("GET", "/v1/plans")[2]["plans"][0]["created"], 2)
        # Restarted, it is as it was.
        self.assertEqual(server.end(), 0)
        server = self.serve()
        again = server.ask("GET", path)[2]
        self.assertEqual({**again, "weights": 0}, {**plan, "weights": 0})
        self.assertEqual(server.ask("GET", "/v1/plans")[2]["plans"][0]["reserved"], 2 << 20)
        self.assertEqual(server.ask("DELETE", path)[0], 204)
        self.problem(server.ask("GET", path), 404, "not-found")
        self.assertEqual(server.ask("GET", "/v1/weights")[2]["file_system"], "lustre")
        # All that it keeps is private.
        for file in (self.folder / "state").iterdir():
            self.assertEqual(stat.S_IMODE(file.stat().st_mode) & 0o077, 0, file)

    def test_an_old_client_is_served(self):
        status, _, plan = self.serve().ask("POST", "/v1/plans", OLD_REQUEST)
        self.assertEqual(status, 200)
        for field in ("plan", "policy", "file_system", "files", "reasons"):
            self.assertIn(field, plan)
        self.assertEqual(len(plan["files"]), 1)

    def test_no_plan_where_the_default_is_as_good(self):
        server = self.serve()
        # The capture has six OSTs: one file of each process on each of them, in three steps.
        steps = [{"name": f"/nowhere/here/{step}.{rank}", "bytes": 8 << 20, "phase": step} for step in range(3) for rank in range(6)]
        request = {"application": "ior", "files": steps, "phase_seconds": [2, 2.5, 2], "gap_s": 60}
        self.assertTrue(server.ask("POST", "/v1/plans", {**request, "always": True})[2]["plan"])
        status, _, none = server.ask("POST", "/v1/plans", request)
        self.assertEqual((status, none["plan"], none["verdict"]), (200, "", "Lustre's default is as good"))
        self.assertEqual([file["layouts"] for file in none["files"]], [[]] * 18)
        self.assertEqual(server.ask("GET", "/v1/plans")[2]["plans"], [], "the plan before it is taken back, too")
        self.assertEqual(sum(ost["reserved"] for ost in server.ask("GET", "/v1/cluster")[2]["file_systems"][0]["osts"]), 0)
        self.assertIn("iez_left_to_default_total 1\n", server.ask("GET", "/metrics")[2].decode())
        plan = server.ask("POST", "/v1/plans", {**request, "always": True})[2]
        for step in range(3):
            used = {file["layouts"][0][1][0] for file in plan["files"][6 * step:6 * step + 6]}
            self.assertEqual(len(used), 6, "each step is on all OSTs")
        self.assertEqual(plan["expires_ns"] - plan["made_ns"], 600 * 10**9, "ten minutes at least")
        for wrong in ({"phase": -1}, {"phase": 1 << 32}, {"read_phase": -2}, {"default_stripe_count": -2}):
            self.problem(server.ask("POST", "/v1/plans", {**request, "files": [{**steps[0], **wrong}]}), 400, "bad-request")
        for wrong in ([-1], [0] * 4097, ["1"]):
            self.problem(server.ask("POST", "/v1/plans", {**request, "phase_seconds": wrong}), 400, "bad-request")

    def test_what_is_refused(self):
        server = self.serve()
        for body in (b"", b"{", b"[]", b'{"application":1}', b"\xff", b"[" * 100000, b'{"application":"a","files":[{"name":"x","bytes":1}]}',
                     b'{"application":"a","files":[{"name":"/a/../b","bytes":1}]}'):
            with self.subTest(body=body[:40]):
                self.problem(server.ask("POST", "/v1/plans", body), 400, "bad-request")
        self.problem(server.ask("POST", "/v1/plans", request_of("big", 1, 1 << 60)), 409, "no-room")
        self.problem(server.ask("POST", "/v1/plans", request_of("else", file_system="other")), 404, "not-found")
        self.problem(server.ask("GET", "/v1/plans/../../etc/passwd"), 404, "not-found")
        self.problem(server.ask("GET", "/v2/plans"), 404, "not-found")
        self.problem(server.ask("PUT", "/v1/plans", {}), 405, "bad-method")
        self.problem(server.ask("DELETE", "/metrics"), 405, "bad-method")
        self.problem(server.ask("POST", "/v1/plans", {}, headers={"Content-Encoding": "gzip"}), 415, "bad-encoding")
        self.problem(server.ask("POST", "/v1/plans", {}, headers={"Content-Type": "multipart/form-data; boundary=x"}), 415, "bad-type")
        self.problem(server.ask("GET", "/" + "a" * 2000), 414, "too-long")
        self.assertEqual(server.ask("GET", "/healthz")[0], 200)

    def test_size_limit(self):
        server = self.serve()
        connection = server.connect()
        connection.putrequest("POST", "/v1/plans")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(17 << 20))
        connection.endheaders()
        answer = connection.getresponse()
        self.assertEqual(answer.status, 413)
        connection.close()
        # The same in pieces, of which nobody said how many come.
        with socket.create_connection((server.address.hostname, server.address.port), timeout=WAIT) as raw:
            raw.sendall(b"POST /v1/plans HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
            piece = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
            try:
                for _ in range(20):
                    raw.sendall(piece)
                raw.sendall(b"0\r\n\r\n")
                head = raw.recv(4096)
            except ConnectionError:
                head = b""
            self.assertNotIn(b" 200 ", head)
        self.assertEqual(server.ask("GET", "/healthz")[0], 200)

    def test_malformed_http(self):
        server = self.serve()
        rng = random.Random(7)
        for text in (b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x00\xff" * 50, b"GET /\x00 HTTP/1.1\r\n\r\n",
                     b"POST /v1/plans HTTP/1.1\r\nContent-Length: -5\r\n\r\n", b"POST /v1/plans HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
                     b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 5000 + b"\r\n", b"A" * 100000, *(rng.randbytes(rng.randrange(1, 2000)) for _ in range(50))):
            with socket.create_connection((server.address.hostname, server.address.port), timeout=WAIT) as raw:
                try:
                    raw.sendall(text)
                    raw.shutdown(socket.SHUT_WR)
                    while raw.recv(65536):
                        pass
                except ConnectionError:
                    pass
        self.assertEqual(server.ask("GET", "/healthz")[0], 200)
        self.assertEqual(server.ask("POST", "/v1/plans", request_of("after"))[0], 200)
        self.assertEqual(server.end(), 0)

    def test_slow_connections_do_not_keep_it_from_ending(self):
        server = self.serve()
        for _ in range(20):
            slow = socket.create_connection((server.address.hostname, server.address.port), timeout=WAIT)
            self.addCleanup(slow.close)
        self.assertEqual(server.ask("POST", "/v1/plans", request_of("between"))[0], 200)
        self.assertEqual(server.end(), 0)

    def test_one_for_a_port(self):
        server = self.serve()
        other = subprocess.run([IEZ, "serve", "--no-agents", "--state", str(self.folder / "other"), "--listen", f"127.0.0.1:{server.address.port}"],
                               capture_output=True, text=True, check=False, timeout=WAIT)
        self.assertEqual((other.returncode, other.stdout), (1, ""))
        self.assertRegex(other.stderr, "[Aa]ddress already in use|cannot listen")

    def test_one_for_a_folder(self):
        self.serve()
        second = subprocess.run([IEZ, "serve", "--listen", "127.0.0.1:0", "--no-agents", "--state", str(self.folder / "state")],
                                capture_output=True, text=True, timeout=WAIT, check=False)
        self.assertEqual(second.returncode, 1)
        self.assertIn("another coordinator", second.stderr)

    def test_document_and_metrics(self):
        server = self.serve()
        server.ask("POST", "/v1/plans", request_of("ior"))
        document = server.ask("GET", "/v1/openapi.json")[2]
        self.assertEqual(document["openapi"], "3.1.0")
        schemas = document["components"]["schemas"]
        for path, schema in (("/v1/cluster", "Cluster"), ("/v1/agents", "Agents"), ("/v1/weights", "Weights")):
            answer = server.ask("GET", path)[2]
            self.assertEqual(set(answer), set(schemas[schema]["properties"]))
        plan = server.ask("POST", "/v1/plans", request_of("ior"))[2]
        self.assertEqual(set(plan) | {"gain"}, set(schemas["PlanAnswer"]["properties"]))
        row = server.ask("GET", "/v1/plans")[2]["plans"][0]
        self.assertEqual(set(row), set(schemas["PlanRow"]["properties"]))
        text = server.ask("GET", "/metrics")[2].decode()
        self.assertIn('lustre_available_kilobytes{component="ost",target="lustre-OST0000"} ', text)
        self.assertIn("iez_plans_pending 1\n", text)
        if shutil.which("promtool"):
            check = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=WAIT, check=False)
            complaints = [line for line in (check.stdout + check.stderr).splitlines() if 'use base unit "bytes"' not in line]
            self.assertEqual(complaints, [], "but for the unit that the exporters of Lustre chose")

    @unittest.skipUnless(shutil.which("prometheus"), "no Prometheus here")
    def test_status(self):
        server = self.serve()
        asked = subprocess.run([IEZ, "serve", "status", server.about["url"], "--json"], capture_output=True, text=True, check=True, timeout=WAIT)
        told = json.loads(asked.stdout)
        self.assertEqual((told["osts"], told["stale"], told["agents"], told["plans"], told["queue"], told["busy"]), (6, 0, {}, 0, 0, False))
        self.assertEqual(server.ask("POST", "/v1/plans", request_of("seen", files=3))[0], 200)
        asked = subprocess.run([IEZ, "serve", "status", server.about["url"]], capture_output=True, text=True, check=True, timeout=WAIT)
        self.assertRegex(asked.stdout, r"(?m)^agents +none$")
        self.assertRegex(asked.stdout, r"(?m)^OSTs +6 known, 0 of them")
        self.assertRegex(asked.stdout, r"(?m)^plans +1 yours to see and not yet written, of 3 files; 3\.\d+ MB reserved")
        self.assertRegex(asked.stdout, r"(?m)^gate +open\nqueue +0 requests waiting$")
        self.assertNotIn("no plan uses", asked.stdout)
        self.assertEqual((told["unusable"], told["why"]), ([], None))
        nobody = subprocess.run([IEZ, "serve", "status", "http://127.0.0.1:1"], capture_output=True, text=True, check=False, timeout=WAIT)
        self.assertEqual((nobody.returncode, nobody.stdout), (1, ""))
        self.assertIn("nobody listens there", nobody.stderr)

    def test_status_names_osts_that_no_plan_uses(self):
        tree = self.folder / "tree"
        shutil.copytree(CAPTURE, tree, symlinks=True)
        [closed] = tree.rglob("obdfilter/lustre-OST0003/no_create")
        closed.write_text("1\n", encoding="ascii")
        server = self.serve(root=tree)
        asked = [subprocess.run([IEZ, "serve", "status", server.about["url"], *flags], capture_output=True, text=True, check=True, timeout=WAIT).stdout
                 for flags in ((), ("--json",))]
        self.assertRegex(asked[0], r"(?m)^OSTs .*\n             no plan uses lustre-OST0003 closed to new objects$")
        self.assertEqual(json.loads(asked[1])["unusable"], [{"name": "lustre-OST0003", "state": "closed to new objects"}])

    def test_status_asks_by_a_name_of_the_certificate(self):
        """Without a URL: where this node's coordinator listens, by a name that its certificate is for."""
        key, certificate = self.folder / "key.pem", self.folder / "cert.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
                        "-subj", "/CN=mds", "-addext", "subjectAltName=DNS:*.example.org,DNS:localhost"], check=True, capture_output=True, timeout=WAIT)
        server = self.serve("--certificate", certificate, "--certificate-key", key)
        for host in ("0.0.0.0", "127.0.0.1"):
            self.file("config/iez/iez.toml", f'[coordinator]\nca_file = "{certificate}"\n[serve]\nlisten = "{host}:{server.address.port}"\n'
                                             f'certificate = "{certificate}"\ncertificate_key = "{key}"\n')
            asked = subprocess.run([IEZ, "serve", "status", "--json"], capture_output=True, text=True, check=False, timeout=WAIT,
                                   env={**os.environ, "XDG_CONFIG_HOME": str(self.folder / "config")})
            self.assertEqual((asked.returncode, asked.stderr), (0, ""))
            self.assertEqual(json.loads(asked.stdout)["url"], f"https://localhost:{server.address.port}")

    def test_prometheus_reads_it(self):
        server = self.serve()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        config = self.file("prometheus.yml", "scrape_configs:\n- job_name: iez\n  scrape_interval: 1s\n  static_configs:\n"
                           f"  - targets: ['127.0.0.1:{server.address.port}']\n")
        with subprocess.Popen(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.folder / 'tsdb'}",
                               f"--web.listen-address=127.0.0.1:{port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as prometheus:
            try:
                found = []
                end = time.monotonic() + WAIT
                while not found and time.monotonic() < end:
                    time.sleep(0.3)
                    try:
                        asked = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT)
                        asked.request("GET", "/api/v1/query?query=lustre_available_kilobytes")
                        found = json.loads(asked.getresponse().read()).get("data", {}).get("result", [])
                        asked.close()
                    except (OSError, ValueError):
                        pass
                self.assertEqual(len(found), 6)
            finally:
                prometheus.kill()


class AccessTest(ServeCase):
    def token(self, *arguments):
        made = subprocess.run([IEZ, "token", "--tokens", str(self.folder / "tokens"), *arguments], capture_output=True, text=True,
                              check=True, timeout=WAIT)
        return made.stdout.strip()

    def test_tokens(self):
        ann = self.token("12345", "--below", "/nowhere/{user}")
        boss = self.token("root", "--admin")
        self.assertEqual(stat.S_IMODE((self.folder / "tokens").stat().st_mode), 0o600)
        self.assertNotIn(ann, (self.folder / "tokens").read_text())
        server = self.serve("--tokens", self.folder / "tokens")
        for token in (None, "wrong", ann + "x", "sha256:" + "0" * 64):
            self.problem(server.ask("GET", "/v1/plans", token=token), 401, "unauthorized")
        self.problem(server.ask("GET", "/metrics"), 401, "unauthorized")
        status, _, plan = server.ask("POST", "/v1/plans", request_of("a", folder="/nowhere/12345"), token=ann)
        self.assertEqual(status, 200)
        self.problem(server.ask("POST", "/v1/plans", request_of("a", folder="/nowhere/else"), token=ann), 403, "forbidden")
        self.problem(server.ask("POST", "/v1/plans", request_of("a", folder="/nowhere/12345", spread=["/etc/"]), token=ann), 403, "forbidden")
        # A token that is made later works at once; others see nothing of the plan.
        bob = self.token("54321", "--below", "/nowhere")
        self.problem(server.ask("GET", f"/v1/plans/{plan['plan']}", token=bob), 404, "not-found")
        self.problem(server.ask("DELETE", f"/v1/plans/{plan['plan']}", token=bob), 404, "not-found")
        self.assertEqual(server.ask("GET", "/v1/plans", token=bob)[2]["plans"], [])
        self.assertEqual(len(server.ask("GET", "/v1/plans", token=boss)[2]["plans"]), 1)

    def test_directories_that_are_seen(self):
        shared = self.folder / "shared"
        private = self.folder / "private"
        self.folder.chmod(0o755)
        for folder, mode in ((shared, 0o777), (private, 0o755)):
            folder.mkdir()
            folder.chmod(mode)
        user = self.token("12345")
        server = self.serve("--tokens", self.folder / "tokens")
        self.assertEqual(server.ask("POST", "/v1/plans", request_of("a", folder=str(shared)), token=user)[0], 200)
        self.problem(server.ask("POST", "/v1/plans", request_of("a", folder=str(private)), token=user), 403, "forbidden")
        self.problem(server.ask("POST", "/v1/plans", request_of("a", folder="/nowhere/here"), token=user), 403, "forbidden")

    @unittest.skipUnless(os.geteuid() == 0, "needs another user")
    def test_other_users_of_the_node_are_strangers(self):
        server = self.serve()
        code = ("import http.client,sys;c=http.client.HTTPConnection('127.0.0.1',int(sys.argv[1]));c.request('GET','/v1/plans');"
                "print(c.getresponse().status)")
        answers = [subprocess.run(["/usr/bin/python3", "-c", code, str(server.address.port)], user=user, capture_output=True, text=True,
                                  timeout=WAIT, check=True, cwd="/").stdout.strip() for user in (0, 12345)]
        self.assertEqual(answers, ["200", "403"])

    def test_rate_limit(self):
        server = self.serve("--rate-limit", "2")
        answers = [server.ask("GET", "/v1/plans") for _ in range(12)]
        refused = [answer for answer in answers if answer[0] == 429]
        self.assertTrue(refused)
        self.assertGreaterEqual(int(refused[0][1]["Retry-After"]), 1)
        self.problem(refused[0], 429, "too-fast")

    def test_beyond_loopback_tokens_are_needed(self):
        refused = subprocess.run([IEZ, "serve", "--listen", "0.0.0.0:0", "--no-agents", "--state", str(self.folder / "state")],
                                 capture_output=True, text=True, timeout=WAIT, check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("tokens", refused.stderr)

    def test_https(self):
        key, certificate = self.folder / "key.pem", self.folder / "cert.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True, timeout=60)
        server = self.serve("--certificate", certificate, "--certificate-key", key)
        self.assertTrue(server.about["url"].startswith("https://"))
        context = ssl.create_default_context(cafile=certificate)
        connection = server.connect(context)
        for name in ("one", "two"):
            self.assertEqual(server.ask("POST", "/v1/plans", request_of(name, 500), connection=connection)[0], 200)
        connection.close()


class GateTest(ServeCase):
    def test_a_busy_node_queues(self):
        server = self.serve("--memory-limit", "0")
        end = time.monotonic() + WAIT
        while time.monotonic() < end and b"iez_gate_closed 1" not in server.ask("GET", "/metrics")[2]:
            time.sleep(0.1)
        status, headers, ticket = server.ask("POST", "/v1/plans", request_of("ior"))
        self.assertEqual(status, 202)
        self.assertEqual(headers["Location"], f"/v1/plans/{ticket['plan']}")
        self.assertGreaterEqual(int(headers["Retry-After"]), 1)
        self.assertEqual(server.ask("GET", headers["Location"])[0], 202)
        self.assertTrue(ticket["busy"])
        self.assertRegex(ticket["why"], r"^busy: memory \d+ % \(serve.memory_limit 0\)$")
        asked = subprocess.run([IEZ, "serve", "status", server.about["url"]], capture_output=True, text=True, check=True, timeout=WAIT)
        self.assertRegex(asked.stdout, r"(?m)^gate +closed: memory \d+ % \(serve.memory_limit 0\); runs plan on their own nodes\nqueue +1 request waiting$")
        self.assertEqual(server.end(signal.SIGKILL), -signal.SIGKILL)
        server = self.serve()
        while (answer := server.ask("GET", headers["Location"]))[0] == 202 and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(answer[0], 200)
        self.assertEqual(len(answer[2]["files"]), 4)


class KillTest(ServeCase):
    def test_nothing_acknowledged_is_lost(self):
        rounds = 200 if LONG else 40
        seed = random.randrange(1 << 32)
        rng = random.Random(seed)
        known = {}  # by application: what the newest answer said; None: taken back
        doubtful = set()  # applications whose last request was not answered
        for turn in range(rounds):
            with self.subTest(seed=seed, round=turn):
                server = self.serve()
                plans = {row["application"]: row for row in server.ask("GET", "/v1/plans")[2]["plans"]}
                for application, plan in known.items():
                    if application in doubtful:
                        continue
                    if plan is None:
                        self.assertNotIn(application, plans)
                    else:
                        self.assertEqual(server.ask("GET", f"/v1/plans/{plan['plan']}")[2]["files"], plan["files"])
                # No half plan: each has all of its files, and the sum is what is reserved.
                for row in plans.values():
                    self.assertEqual(row["files"], int(row["application"].split("-")[1]))
                osts = server.ask("GET", "/v1/cluster")[2]["file_systems"][0]["osts"]
                self.assertEqual(sum(ost["reserved"] for ost in osts), sum(row["reserved"] for row in plans.values()))
                for application in doubtful:
                    row = plans.get(application)
                    known[application] = server.ask("GET", f"/v1/plans/{row['plan']}")[2] if row else None
                doubtful.clear()
                self.attack(server, rng, known, doubtful)

    def attack(self, server, rng, known, doubtful):
        lock = threading.Lock()
        names = [f"app{i}-{1 + 3 * i}" for i in range(6)]

        def work(mine, seed):
            own = random.Random(seed)
            connection = server.connect()
            try:
                while True:
                    application = own.choice(mine)
                    plan = known.get(application)
                    with lock:
                        doubtful.add(application)
                    if plan and own.random() < 0.3:
                        status = server.ask("DELETE", f"/v1/plans/{plan['plan']}", connection=connection)[0]
                        answer = None
                    else:
                        status, _, answer = server.ask("POST", "/v1/plans", request_of(application, int(application.split("-")[1])),
                                                       connection=connection)
                    with lock:
                        if status in (200, 204):
                            known[application] = answer
                            doubtful.discard(application)
            except (OSError, http.client.HTTPException, ValueError):
                connection.close()

        threads = [threading.Thread(target=work, args=(names[i::3], rng.random())) for i in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(rng.uniform(0.01, 0.2))
        server.end(signal.SIGKILL)
        for thread in threads:
            thread.join(WAIT)


if __name__ == "__main__":
    unittest.main()
