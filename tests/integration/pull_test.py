#!/usr/bin/env python3
"""The coordinator pulls: predictions of databases that `iez db serve` serves are planned and sent back, whatever dies meanwhile.

IEZ_SEED repeats a run; IEZ_LONG=1 makes more rounds.
"""

import http.client
import http.server
import json
import os
import pathlib
import random
import secrets
import signal
import socket
import sqlite3
import stat
import subprocess
import threading
import time
import unittest
import urllib.parse

from folder_case import FolderCase
from mariadb_server import PROGRAM, start_mariadb
from run_test import CAN_MOUNT, RunCase, WRITE

ROOT = pathlib.Path(__file__).resolve().parents[2]
IEZ = os.environ.get("IEZ", str(ROOT / "build/dev/apps/iez/iez"))
CAPTURE = ROOT / "tests/fixtures/captures/lustre-2.17.0-after"
LONG = os.environ.get("IEZ_LONG") == "1"
SEED = int(os.environ.get("IEZ_SEED", time.time_ns()))
WAIT = 60  # seconds
ROWS = 4
SIZE = 1 << 20


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def eventually(condition, what):
    """Until it holds; what it said last is told otherwise."""
    end = time.monotonic() + WAIT
    while True:
        said = condition()
        if said is True:
            return
        if time.monotonic() > end:
            raise AssertionError(f"seed {SEED}: {what}: {said}")
        time.sleep(0.05)


def ask(url, method, path, body=None, token=None):
    address = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=WAIT)
    headers = {"Content-Type": "application/json"} if body is not None else {}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, path, content, headers)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, json.loads(text) if "json" in answer.headers.get("Content-Type", "") else text.decode()


class Process:
    def __init__(self, log, *arguments):
        with open(log, "ab") as errors:
            self.process = subprocess.Popen([IEZ, *map(str, arguments), "--json"], stdout=subprocess.PIPE, stderr=errors,
                                            stdin=subprocess.DEVNULL)
        line = self.process.stdout.readline()
        if not line:
            self.end(signal.SIGKILL)
            raise AssertionError(pathlib.Path(log).read_text())
        self.about = json.loads(line)
        self.url = self.about["url"]

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        status = self.process.wait(WAIT)
        self.process.stdout.close()
        return status


class Database:
    """A store, and whatever serves it at the moment."""

    def __init__(self, case, name, store=None, options=()):
        self.case = case
        self.store = store or f"sqlite:{case.folder}/{name}/iez.db"
        self.port = free_port()
        self.options = options
        self.name = name
        self.time = 1000
        self.server = None
        self.start()

    def start(self):
        self.server = Process(self.case.folder / f"{self.name}.log", "db", "serve", "--store", self.store, "--listen",
                              f"127.0.0.1:{self.port}", "--rate-limit", 0, *self.options)
        self.case.addCleanup(self.stop)

    def stop(self, how=signal.SIGKILL):
        if self.server:
            self.server.end(how)
            self.server = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def predict(self, application, pulled=True, owner="root", rows=ROWS, always=True, left_alone=False):
        """As a run does that leaves its plan to the coordinator; gives the key."""
        self.time += 1
        key = secrets.token_hex(16)
        note = {"host": "node", "file_system": "lustre", "rows": [[0, rows]], "freed": [], "always": always}
        lines = [{"iez_store": {"version": 1, "made_ns": 1}},
                 {"application": {"owner": owner, "name": application, "fingerprint": "", "created_ns": 1}},
                 {"prediction": {"owner": owner, "application": application, "key": key, "made_ns": self.time, "ranks": 1,
                                 "model": json.dumps({"pull": note} if pulled else {}), "rows": rows, "bytes": rows * SIZE}}]
        lines += [{"predicted": {"name": f"/nowhere/{self.name}/{application}.{i}", "bytes": SIZE, "high": SIZE, "stripe_count": 2,
                                 "files": 1, "left_alone": left_alone}} for i in range(rows)]
        lines.append({"end": {"lines": len(lines)}})
        text = "".join(json.dumps(line) + "\n" for line in lines)
        done = subprocess.run([IEZ, "db", "import", "-", "--store", self.store], input=text, capture_output=True, text=True, check=False,
                              timeout=WAIT)
        self.case.assertEqual(done.returncode, 0, done.stderr)
        return key

    def exported(self):
        done = subprocess.run([IEZ, "db", "export", "--store", self.store], capture_output=True, text=True, check=True, timeout=WAIT)
        return [next(iter(json.loads(line).items())) for line in done.stdout.splitlines()]

    def sql(self):
        return sqlite3.connect(self.store.removeprefix("sqlite:"), timeout=WAIT, isolation_level="IMMEDIATE")

    def create(self, plan, rows):
        """As a run does that has written its files."""
        with self.sql() as connection:
            [(number,)] = connection.execute("SELECT id FROM allocations WHERE plan = ? ORDER BY made_ns DESC, id DESC LIMIT 1",
                                             (plan.encode(),))
            marks = ",".join("?" * len(rows))
            connection.execute(f"UPDATE allocated SET state = 1 WHERE allocation = ? AND number IN ({marks})", (number, *rows))
            for column, state in (("planned", 0), ("created", 1), ("expired", 2)):
                connection.execute(f"UPDATE allocations SET {column} = (SELECT count(*) FROM allocated WHERE allocation = ? AND turn = 0 "
                                   "AND state = ?) WHERE id = ?", (number, state, number))
            connection.execute("UPDATE iez_meta SET value = value + 1 WHERE CAST(name AS TEXT) = 'revision'")
        connection.close()

    def plans(self):
        """By application: the key of its newest prediction, the plans of that one, and its newest allocation's rows in each state."""
        newest, owner, states, layouts = {}, {}, {}, {}
        current = None
        for kind, record in self.exported():
            if kind == "prediction":
                name = record["application"]
                owner[record["key"]] = name
                if name not in newest or record["made_ns"] >= newest[name][0]:
                    newest[name] = (record["made_ns"], record["key"])
            elif kind == "allocation":
                current = (record["made_ns"], record["plan"], record["prediction"])
                states[current] = (record["planned"], record["created"], record["expired"])
                layouts[current] = []
            elif kind == "allocated":
                layouts[current].append([[one["stripe_size"], one["osts"]] for one in record["layouts"]])
        found = {}
        for name, (_, key) in newest.items():
            mine = sorted(one for one in states if one[2] == key)
            last = mine[-1] if mine else None
            found[name] = {"key": key, "plans": {one[1] for one in mine}, "states": states.get(last), "layouts": layouts.get(last)}
        return found


class PullCase(FolderCase):
    def database(self, name, **more):
        return Database(self, name, **more)

    def coordinator(self, *urls, memory=1, options=()):
        words = ["serve", "--listen", "127.0.0.1:0", "--no-agents", "--state", self.folder / "state", "--root", CAPTURE, "--rate-limit", 0,
                 "--cpu-limit", 1, "--memory-limit", memory, "--pull-interval", 0.1]
        for url in urls:
            words += ["--pull", url]
        server = Process(self.folder / "serve.log", *words, *options)
        self.addCleanup(server.end, signal.SIGKILL)
        return server

    def settled(self, server, databases):
        """Each prediction has one plan; what is reserved is what those have not created, once. True, or what is not so."""
        rows = {row["plan"]: row for row in ask(server.url, "GET", "/v1/plans")[1]["plans"]}
        expected = {}
        for database in databases:
            for name, one in database.plans().items():
                if len(one["plans"]) != 1:
                    return f"{name}: {one}"
                [plan] = one["plans"]
                if one["states"][0] > 0:
                    expected[plan] = (one["states"][1], one["layouts"])
        if set(rows) != set(expected):
            return f"pending {sorted(rows)}, expected {sorted(expected)}"
        for plan, (created, layouts) in expected.items():
            status, answer = ask(server.url, "GET", f"/v1/plans/{plan}")
            if rows[plan]["created"] != created or status != 200:
                return f"{plan}: {rows[plan]} {created}"
            if created == 0 and [file["layouts"] for file in answer["files"]] != layouts:
                return f"{plan}: {answer['files']} {layouts}"
        osts = ask(server.url, "GET", "/v1/cluster")[1]["file_systems"][0]["osts"]
        reserved = sum(ost["reserved"] for ost in osts)
        files = sum(row["files"] - row["created"] for row in rows.values())
        return True if reserved == files * SIZE else f"{reserved} bytes are reserved for {files} files"

    def metric(self, server, name, url):
        text = ask(server.url, "GET", "/metrics")[1]
        [line] = [line for line in text.splitlines() if line.startswith(f'{name}{{database="{url}"}}')]
        return float(line.split()[-1])


class LoopTest(PullCase):
    def test_two_databases(self):
        first, second = self.database("one"), self.database("two")
        server = self.coordinator(first.url, second.url)
        first.predict("ior")
        second.predict("hacc")
        second.predict("ior2")
        second.predict("private", pulled=False)
        databases = (first, second)
        eventually(lambda: all(one["plans"] for name, one in [*first.plans().items(), *second.plans().items()] if name != "private"),
                   "not planned")
        self.assertEqual(second.plans()["private"]["plans"], set())
        self.assertEqual(subprocess.run([IEZ, "db", "check", "--store", first.store], capture_output=True, check=False).returncode, 0)
        rows = ask(server.url, "GET", "/v1/plans")[1]["plans"]
        self.assertEqual(sorted(row["database"] for row in rows), sorted([first.url, second.url, second.url]))
        # Created by and by: the reservation goes with them.
        [plan] = first.plans()["ior"]["plans"]
        first.create(plan, [1, 2])
        eventually(lambda: [row["created"] for row in ask(server.url, "GET", "/v1/plans?application=ior")[1]["plans"]] == [2], "2 of 4")
        first.create(plan, [0, 1, 2, 3])
        eventually(lambda: ask(server.url, "GET", "/v1/plans?application=ior")[1]["plans"] == [], "all of it")
        # The next prediction replaces the plan of the one before.
        first.predict("ior")
        second.predict("hacc")
        second.predict("private")
        eventually(lambda: self.settled(server, databases), "replaced")
        self.assertGreaterEqual(self.metric(server, "iez_pull_posted_total", second.url), 4)
        self.assertEqual(self.metric(server, "iez_pull_up", first.url), 1)
        self.assertEqual(server.end(), 0)
        self.assertEqual(first.server.end(), 0)

    def test_a_verdict_instead_of_a_plan(self):
        """Where nothing is to be placed, that is what comes back, once, and nothing is reserved."""
        database = self.database("one")
        key = database.predict("ior", rows=1, always=False, left_alone=True)
        server = self.coordinator(database.url)

        def verdict():
            return {record["key"]: record.get("verdict", "") for kind, record in database.exported() if kind == "prediction"}

        eventually(lambda: verdict()[key] != "" or verdict(), "no verdict")
        self.assertEqual(verdict()[key], "no file is large enough to be placed")
        self.assertEqual(ask(database.url, "GET", "/v1/predictions")[1]["predictions"], [])
        self.assertEqual(ask(server.url, "GET", "/v1/plans")[1]["plans"], [])
        eventually(lambda: self.metric(server, "iez_pull_verdicts_total", database.url) == 1 or "not counted", "counted")
        self.assertEqual(database.plans()["ior"]["plans"], set())
        # The next one is asked for anew.
        database.predict("ior", rows=1)
        eventually(lambda: len(database.plans()["ior"]["plans"]) == 1, "no plan")
        self.assertEqual(self.metric(server, "iez_pull_verdicts_total", database.url), 1)

    def test_what_the_database_answers(self):
        database = self.database("one")
        url = database.url
        self.assertEqual(ask(url, "GET", "/healthz"), (200, {"status": "ok"}))
        document = ask(url, "GET", "/v1/openapi.json")[1]
        schemas = document["components"]["schemas"]
        old = database.predict("ior")
        key = database.predict("ior")
        status, page = ask(url, "GET", "/v1/predictions")
        self.assertEqual((status, set(page)), (200, set(schemas["Predictions"]["properties"])))
        [one] = page["predictions"]
        self.assertEqual(set(one), set(schemas["Prediction"]["properties"]))
        self.assertEqual((one["key"], one["owner"], one["request"]["application"]), (key, "root", "ior"))
        self.assertEqual(ask(url, "GET", f"/v1/predictions?after={one['number']}")[1]["predictions"], [])
        answer = {"plan": "00000000000000ab", "revision": 1, "made_ns": 5, "reasons": ["x"], "policy": "balanced",
                  "files": [{"layouts": [[65536, [i, 1]]], "reason": 0} for i in range(ROWS)]}
        posted = {"prediction": key, "planner": "http://mds", "answer": answer}
        before = ask(url, "GET", "/v1/revision")[1]["revision"]
        status, stored = ask(url, "POST", "/v1/allocations", posted)
        self.assertEqual((status, set(stored)), (200, set(schemas["Stored"]["properties"])))
        self.assertEqual(ask(url, "POST", "/v1/allocations", posted), (200, stored))
        self.assertGreater(ask(url, "GET", "/v1/revision")[1]["revision"], before)
        [head] = ask(url, "GET", "/v1/allocations")[1]["allocations"]
        self.assertEqual(set(head), set(schemas["Allocation"]["properties"]))
        self.assertEqual((head["plan"], head["planned"]), ("00000000000000ab", ROWS))
        database.create("00000000000000ab", [0, 1, 3])
        self.assertEqual(ask(url, "GET", "/v1/allocations/00000000000000ab"),
                         (200, {"plan": "00000000000000ab", "planned": 1, "created": [[0, 2], [3, 1]]}))
        self.assertEqual(len(database.plans()["ior"]["plans"]), 1)
        for method, path, body, status in (
                ("POST", "/v1/allocations", {**posted, "prediction": old}, 409),
                ("POST", "/v1/allocations", {**posted, "answer": {**answer, "plan": "00000000000000ac"}}, 409),
                ("POST", "/v1/allocations", {**posted, "prediction": "0" * 32}, 409),
                ("POST", "/v1/allocations", {**posted, "answer": {**answer, "files": answer["files"][1:]}}, 400),
                ("POST", "/v1/allocations", b"{", 400), ("POST", "/v1/allocations", b"\xff" * 1000, 400),
                ("POST", "/v1/allocations", {"prediction": 7}, 400), ("GET", "/v1/predictions?after=x", None, 400),
                ("GET", "/v1/allocations/00000000000000ff", None, 404), ("GET", "/v1/allocations/a/b", None, 404),
                ("GET", "/v1/plans", None, 404), ("DELETE", "/v1/revision", None, 405), ("POST", "/v1/predictions", {}, 405)):
            with self.subTest(method=method, path=path, status=status):
                told = ask(url, method, path, body)
                self.assertEqual((told[0], told[1]["status"]), (status, status))
        # A client may not say that its request was pulled.
        server = self.coordinator(url)
        request = {"application": "a", "database": url, "files": [{"name": "/nowhere/a", "bytes": 1}]}
        self.assertEqual(ask(server.url, "POST", "/v1/plans", request)[0], 400)

    def test_a_queued_plan_is_sent_when_it_is_planned(self):
        database = self.database("one")
        server = self.coordinator(database.url, memory=0)
        eventually(lambda: "iez_gate_closed 1" in ask(server.url, "GET", "/metrics")[1], "the gate is open")
        database.predict("ior")
        eventually(lambda: len(ask(server.url, "GET", "/v1/plans")[1]["plans"]) == 1, "not queued")
        self.assertEqual(ask(server.url, "GET", "/v1/plans")[1]["plans"][0]["state"], "queued")
        self.assertEqual(self.metric(server, "iez_pull_waiting", database.url), 1)
        server.end(signal.SIGKILL)
        server = self.coordinator(database.url)
        eventually(lambda: self.settled(server, [database]), "not sent")
        self.assertEqual(ask(server.url, "GET", "/metrics")[1].count("iez_queue_requests 0"), 1)


class DeathTest(PullCase):
    def test_killed_at_any_moment(self):
        rng = random.Random(SEED)
        rounds = 100 if LONG else 20
        databases = [self.database("one"), self.database("two")]
        urls = [database.url for database in databases]
        server = self.coordinator(*urls)
        applications = [f"app{i}" for i in range(4)]
        for turn in range(rounds):
            for _ in range(rng.randrange(1, 4)):
                # The names differ between databases: one user's application is one, wherever it is.
                database = rng.choice(databases)
                application = f"{database.name}-{rng.choice(applications)}"
                plans = database.plans().get(application, {}).get("plans") or ()
                if plans and rng.random() < 0.4:
                    database.create(next(iter(plans)), rng.sample(range(ROWS), rng.randrange(1, ROWS + 1)))
                else:
                    database.predict(application)
            time.sleep(rng.uniform(0, 0.3))  # any moment
            victims = rng.sample(["server", 0, 1], rng.randrange(1, 3))
            for victim in victims:
                if victim == "server":
                    server.end(signal.SIGKILL)
                else:
                    databases[victim].stop(signal.SIGKILL)
            for victim in victims:
                if victim == "server":
                    server = self.coordinator(*urls)
                else:
                    databases[victim].start()
            if turn % 5 == 4:
                eventually(lambda: self.settled(server, databases), f"round {turn}")
        for database in databases:
            check = subprocess.run([IEZ, "db", "check", "--store", database.store], capture_output=True, text=True, check=False)
            self.assertEqual(check.returncode, 0, check.stdout)
            # Over all of its life no prediction got two plans.
            plans = {}
            for kind, record in database.exported():
                if kind == "allocation":
                    plans.setdefault(record["prediction"], set()).add(record["plan"])
            self.assertEqual([one for one in plans.values() if len(one) > 1], [])
        self.assertEqual(server.end(), 0)

    def test_one_that_is_dead_holds_up_nobody(self):
        database = self.database("one")
        silent = socket.create_server(("127.0.0.1", 0))  # takes connections, and says nothing
        self.addCleanup(silent.close)
        dead = [f"http://127.0.0.1:{free_port()}", f"http://127.0.0.1:{silent.getsockname()[1]}", "http://10.255.255.1:9"]
        server = self.coordinator(*dead, database.url)
        database.predict("ior")
        eventually(lambda: self.settled(server, [database]), "held up")
        eventually(lambda: self.metric(server, "iez_pull_failures_total", dead[0]) >= 2, "not tried again")
        self.assertEqual(self.metric(server, "iez_pull_up", dead[0]), 0)
        self.assertEqual(self.metric(server, "iez_pull_up", database.url), 1)
        begin = time.monotonic()
        self.assertEqual(server.end(), 0)
        self.assertLess(time.monotonic() - begin, 8, "its end waits for the dead ones")

    def test_a_database_that_comes_later(self):
        database = self.database("one")
        database.predict("ior")
        database.stop()
        server = self.coordinator(database.url)
        eventually(lambda: self.metric(server, "iez_pull_failures_total", database.url) >= 2, "it answers")
        database.start()
        eventually(lambda: self.settled(server, [database]), "not found again")
        self.assertIn("the database answers again", (self.folder / "serve.log").read_text())


class AccessTest(PullCase):
    def token(self, name, *options):
        made = subprocess.run([IEZ, "token", "--tokens", self.folder / "tokens", "root", *options], capture_output=True, text=True,
                              check=True, timeout=WAIT)
        path = self.file(name, made.stdout)
        path.chmod(0o600)
        return made.stdout.strip(), path

    def test_tokens(self):
        right, right_file = self.token("right", "--admin")
        plain, plain_file = self.token("plain")
        database = self.database("one", options=("--tokens", self.folder / "tokens"))
        self.assertEqual(ask(database.url, "GET", "/v1/revision")[0], 401)
        self.assertEqual(ask(database.url, "GET", "/v1/revision", token="wrong")[0], 401)
        self.assertEqual(ask(database.url, "GET", "/v1/revision", token=plain)[0], 403)
        self.assertEqual(ask(database.url, "POST", "/v1/allocations", {}, token=plain)[0], 403)
        self.assertEqual(ask(database.url, "GET", "/v1/revision", token=right)[0], 200)
        database.predict("ior")
        wrong = self.file("wrong", "iez_" + "0" * 64)
        wrong.chmod(0o600)
        for file in (None, wrong, plain_file):
            server = self.coordinator(database.url, options=("--pull-token-file", file) if file else ())
            eventually(lambda: self.metric(server, "iez_pull_failures_total", database.url) >= 2, "it is served")
            self.assertEqual(self.metric(server, "iez_pull_up", database.url), 0)
            self.assertEqual(server.end(), 0)
        self.assertEqual(database.plans()["ior"]["plans"], set())
        log = (self.folder / "serve.log").read_text()
        self.assertIn("(HTTP 401)", log)
        self.assertIn("(HTTP 403)", log)
        self.assertNotIn("0" * 64, log)
        server = self.coordinator(database.url, options=("--pull-token-file", right_file))
        eventually(lambda: self.settled(server, [database]), "not served")
        self.assertEqual(stat.S_IMODE(right_file.stat().st_mode), 0o600)

    def test_refused_at_once(self):
        for words, text in ((["db", "serve", "--listen", "0.0.0.0:0", "--store", f"sqlite:{self.folder}/x.db"], "tokens"),
                            (["db", "serve", "--listen", "nonsense", "--store", f"sqlite:{self.folder}/x.db"], "HOST:PORT"),
                            (["serve", "--listen", "127.0.0.1:0", "--no-agents", "--state", f"{self.folder}/s", "--pull", "nonsense"],
                             "http://HOST:PORT")):
            done = subprocess.run([IEZ, *words], capture_output=True, text=True, check=False, timeout=WAIT)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(text, done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "needs another user")
    def test_other_users_of_the_node_are_strangers(self):
        database = self.database("one")
        code = ("import http.client,sys;c=http.client.HTTPConnection('127.0.0.1',int(sys.argv[1]));c.request('GET','/v1/revision');"
                "print(c.getresponse().status)")
        answers = [subprocess.run(["/usr/bin/python3", "-c", code, str(database.port)], user=user, capture_output=True, text=True,
                                  timeout=WAIT, check=True, cwd="/").stdout.strip() for user in (0, 12345)]
        self.assertEqual(answers, ["200", "403"])


class Liar(http.server.BaseHTTPRequestHandler):
    """A database that makes no sense, in the way its server says."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self, content, status=200, length=None):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content) if length is None else length))
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self):
        self.server.asked += 1
        how = self.server.how
        revision = b'{"revision":%d}' % self.server.asked
        if self.path == "/v1/revision" and how in ("pages", "huge", "truncated", "types", "names"):
            return self.body(revision)
        if how == "pages":
            return self.body(b'{"revision":1,"predictions":[],"next":5}')
        if how == "truncated":
            return self.body(b'{"revision":1,"predictions":[{"key":"0123')
        if how == "types":
            return self.body(b'{"revision":1,"predictions":[{"key":7,"owner":[],"request":"x"}],"next":"soon"}')
        if how == "names":
            files = [{"name": "/a/../../etc/passwd", "bytes": 1}, {"name": "relative", "bytes": -1}]
            one = {"key": "0" * 32, "number": 1, "owner": "root", "request": {"application": "", "files": files[:1]}}
            return self.body(json.dumps({"revision": 1, "predictions": [one] if self.path.startswith("/v1/pred") else [], "next": 0}).encode())
        if how == "huge":
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            piece = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
            for _ in range(4096):
                self.wfile.write(piece)
                self.server.sent += 1
            return None
        if how == "short":
            return self.body(b'{"revis', length=1000)
        if how == "binary":
            return self.body(bytes(range(256)) * 16)
        if how == "status":
            return self.body(b"", status=500)
        if how == "trickle":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while True:
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.02)
        return self.body(b"[" * 100000)

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except OSError:
            self.close_connection = True


class LiesTest(PullCase):
    def test_answers_that_make_no_sense(self):
        database = self.database("one")
        liars = []
        for how in ("pages", "truncated", "types", "names", "huge", "short", "binary", "status", "trickle", "deep"):
            liar = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Liar)
            liar.how, liar.asked, liar.sent, liar.daemon_threads = how, 0, 0, True
            threading.Thread(target=liar.serve_forever, daemon=True).start()
            self.addCleanup(liar.server_close)
            self.addCleanup(liar.shutdown)
            liars.append(liar)
        urls = [f"http://127.0.0.1:{liar.server_port}" for liar in liars]
        server = self.coordinator(*urls, database.url)
        database.predict("ior")
        eventually(lambda: self.settled(server, [database]), "held up by others")
        for liar, url in zip(liars, urls):
            if liar.how == "trickle":
                continue  # it has until the end of its time
            name = "iez_pull_refused_total" if liar.how == "names" else "iez_pull_failures_total"
            eventually(lambda: self.metric(server, name, url) >= 1, liar.how)
        [huge] = [liar for liar in liars if liar.how == "huge"]
        failures = self.metric(server, "iez_pull_failures_total", urls[liars.index(huge)])
        self.assertLess(huge.sent / (failures + 1), 200, "MiB were taken for each answer")
        database.predict("ior")
        eventually(lambda: self.settled(server, [database]), "held up by others")
        status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
        if os.environ.get("IEZ_SANITIZED") != "1":
            peak = int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])
            self.assertLess(peak, 600 << 10, "KiB of memory")
        begin = time.monotonic()
        self.assertEqual(server.end(), 0)
        self.assertLess(time.monotonic() - begin, 8, "its end waits for a slow answer")


@unittest.skipUnless(PROGRAM, "MariaDB is not installed")
class MariadbTest(PullCase):
    def test_a_database_of_a_site(self):
        url, said = start_mariadb(self)
        database = self.database("site", store=url)
        coordinator = self.coordinator(database.url)
        for application in ("ior", "hacc", "ior"):
            database.predict(application)
        eventually(lambda: self.settled(coordinator, [database]), "not planned")
        coordinator.end(signal.SIGKILL)
        database.stop(signal.SIGKILL)
        database.start()
        database.predict("hacc")
        coordinator = self.coordinator(database.url)
        eventually(lambda: self.settled(coordinator, [database]), "not planned again")
        placed = said("SELECT count(*) FROM iez.placements WHERE ost_list <> ''")
        self.assertEqual(int(placed), 2 * ROWS)


@unittest.skipUnless(CAN_MOUNT, "FUSE is not there")
class RunTest(RunCase):
    def start(self, *words):
        log = self.state / "log"
        process = Process(log, *words)
        self.addCleanup(process.end, signal.SIGKILL)
        return process

    def coordinator(self, url):
        return self.start("serve", "--listen", "127.0.0.1:0", "--state", self.state / "serve", "--root", self.lab / "params/oss0", "--root",
                          self.lab / "params/oss1", "--no-agents", "--cpu-limit", 1, "--memory-limit", 1, "--pull", url, "--pull-interval", 0.1)

    def allocation(self):
        return json.loads(self.iez("app", "show", "shell", "--json").stdout)["allocation"] or {}

    def clear(self):
        for file in self.place.iterdir():
            file.unlink()

    def test_a_run_leaves_its_plan_to_the_coordinator(self):
        self.environment["IEZ_COORDINATOR_MODE"] = "pull"
        command = ["sh", "-c", WRITE]
        first = self.report(command, "--app", "shell")
        self.assertEqual((first["mode"], first["planner"], first["next_plan"]), ("learn", "pull", None), first)
        database = self.start("db", "serve", "--listen", "127.0.0.1:0", "--store", f"sqlite:{self.state}/iez/iez.db")
        server = self.coordinator(database.url)
        eventually(lambda: self.allocation().get("planner") == server.url, "no plan came")
        plan = self.allocation()["plan"]
        planned = self.plan("shell")
        self.clear()
        second = self.report(command, "--app", "shell")
        self.assertEqual((second["mode"], second["plan"], second["placed"], second["planner"]), ("place", plan, 6, "pull"), second)
        for i in range(1, 7):
            self.lies_as(planned[str(self.place / f"out.{i}")], self.place / f"out.{i}")
        # The reservation of the first plan ended, and the next prediction has its own.
        eventually(lambda: [row["plan"] for row in ask(server.url, "GET", "/v1/plans")[1]["plans"]] not in ([], [plan])
                   and self.allocation()["plan"] != plan, "the next plan")
        self.assertEqual(server.end(), 0)
        third_plan = self.allocation()["plan"]
        self.clear()
        third = self.report(command, "--app", "shell")
        self.assertEqual((third["mode"], third["plan"]), ("place", third_plan), third)
        # Nobody answered since: this node plans, and says so.
        self.clear()
        fourth = self.report(command, "--app", "shell")
        self.assertEqual((fourth["mode"], fourth["placed"]), ("place", 6), fourth)
        self.assertIn("planned on this node: the coordinator has not sent the plan", fourth["notes"])
        self.assertNotEqual(fourth["plan"], third_plan)
        server = self.coordinator(database.url)
        eventually(lambda: self.allocation().get("planner") == server.url
                   and [row["plan"] for row in ask(server.url, "GET", "/v1/plans")[1]["plans"]] == [self.allocation()["plan"]],
                   "one plan, of the last prediction")


del RunCase  # has no tests of its own

if __name__ == "__main__":
    print(f"seed {SEED}")
    unittest.main()
