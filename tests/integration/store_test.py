#!/usr/bin/env python3
"""The interaction database under faults: killed writers, a server that goes away, a full disk; and `iez db`, `iez app` from outside.

MariaDB is started by this test on a socket of its own. IEZ_LONG=1 makes more rounds.
"""

import json
import os
import pathlib
import random
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from folder_case import FolderCase

ROOT = pathlib.Path(os.environ.get("IEZ_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
IEZ = pathlib.Path(os.environ.get("IEZ", ROOT / "build/dev/apps/iez/iez")).resolve()
WRITER = os.environ.get("IEZ_STORE_WRITER", str(ROOT / "build/dev/tests/integration/store_writer"))
UNIT = os.environ.get("IEZ_STORE_TEST", str(ROOT / "build/dev/src/store/store_test"))
LONG = os.environ.get("IEZ_LONG") == "1"
SEED = int(os.environ.get("IEZ_SEED", time.time_ns()))
RANDOM = random.Random(SEED)
USER = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()


def iez(*arguments, **options):
    return subprocess.run([IEZ, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120,
                          stdin=options.pop("stdin", subprocess.DEVNULL), **options)


def exported(url):
    """What is in a database: keys of runs, and of plans with the number of their rows (none where they were dropped)."""
    result = iez("db", "export", "--store", url)
    assert result.returncode == 0, result.stderr
    runs, plans, predictions, key = set(), {}, set(), None
    for line in result.stdout.splitlines():
        (kind, record), = json.loads(line).items()
        if kind == "run":
            runs.add(record["key"])
        elif kind == "prediction":
            predictions.add(record["key"])
        elif kind == "allocation":
            key = record["key"]
            plans[key] = [record["rows"], 0]
        elif kind == "allocated":
            plans[key][1] += 1
    return runs, plans, predictions


KEPT_PLANS = 3  # StoreOptions::OpenOptions::keep_plans


class Database(FolderCase):
    def start(self, url, first, count):
        writer = subprocess.Popen([WRITER, url, str(first), str(count)], stdout=subprocess.PIPE, text=True)
        self.addCleanup(writer.stdout.close)
        self.addCleanup(writer.wait)
        self.addCleanup(writer.kill)
        return writer

    def expect_all(self, url, lines):
        """Everything acknowledged is there, and no plan is half."""
        check = iez("db", "check", "--store", url)
        self.assertEqual(check.returncode, 0, f"seed {SEED}: {check.stdout}{check.stderr}")
        runs, plans, predictions = exported(url)
        acknowledged = {line.split()[1] for line in lines if line.startswith("run ")}
        self.assertLessEqual(acknowledged, runs, f"seed {SEED}")
        for rows, there in plans.values():
            self.assertIn(there, (0, rows), f"seed {SEED}")
        # Old plans are dropped: of those acknowledged, the newest must be there, unless writers that were killed before they could tell
        # have left newer predictions in its place.
        newest = sorted(line.split()[1] for line in lines if line.startswith("plan "))[-1:]
        for key in newest:
            newer = sum(other[1:] > key[1:] for other in predictions)  # a letter, then the number
            self.assertEqual(plans.get(key), [30, 30] if newer < KEPT_PLANS else [30, 0], f"seed {SEED}")


class Sqlite(Database):
    def setUp(self):
        super().setUp()
        self.url = f"sqlite:{self.folder}/state/iez.db"

    def test_a_killed_writer_loses_nothing_that_was_acknowledged(self):
        rounds = 200 if LONG else 40
        lines = []
        for number in range(rounds):
            writer = self.start(self.url, number * 100_000, 100_000)
            wanted = RANDOM.randrange(1, 12)
            for _ in range(wanted):
                lines.append(writer.stdout.readline())
            time.sleep(RANDOM.random() * 0.004)
            writer.send_signal(signal.SIGKILL)
            lines += writer.stdout.read().splitlines()
            writer.wait()
            if number % 10 == 9 or number == rounds - 1:
                self.expect_all(self.url, lines)

    def test_writers_at_once(self):
        writers = [self.start(self.url, number * 1000, 10) for number in range(4)]
        lines = [line for writer in writers for line in writer.stdout.read().splitlines()]
        # A plan may be too old among those of the others: that is told, and is the only failure.
        errors = [line for line in lines if line.startswith("error") and "there are newer ones" not in line
                  and "has no prediction" not in line and "has no allocation" not in line]
        self.assertEqual(errors, [])
        self.assertEqual(iez("db", "check", "--store", self.url).returncode, 0)

    def full_disk(self, url, **options):
        writer = subprocess.run([WRITER, url, "0", "100000"], capture_output=True, text=True, check=False, timeout=100, **options)
        lines = writer.stdout.splitlines()
        self.assertEqual(writer.returncode, 1, lines[-1:])
        self.assertTrue(lines[-1].startswith("error: "), lines[-1])
        return lines

    def test_a_file_that_may_not_grow(self):
        subprocess.run([WRITER, self.url, "0", "1"], check=True, capture_output=True)

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))

        lines = self.full_disk(self.url, preexec_fn=limit, restore_signals=False)
        self.expect_all(self.url, lines)

    def test_a_full_disk(self):
        mount = self.folder / "small"
        mount.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", mount], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.skipTest(f"cannot mount a small file system: {done.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", mount], check=False)
        url = f"sqlite:{mount}/iez.db"
        lines = self.full_disk(url)
        self.assertRegex(lines[-1], "no space left for the database; nothing was changed|disk I/O error|full")
        # Room again: it goes on.
        subprocess.run(["mount", "-o", "remount,size=64m", mount], check=True, capture_output=True)
        self.expect_all(url, lines)
        again = subprocess.run([WRITER, url, "900000", "2"], capture_output=True, text=True, check=False, timeout=100)
        self.assertEqual(again.returncode, 0, again.stdout)


class Commands(FolderCase):
    def setUp(self):
        super().setUp()
        self.url = f"sqlite:{self.folder}/iez.db"
        subprocess.run([WRITER, self.url, "0", "2"], check=True, capture_output=True)

    def test_show_and_check(self):
        shown = json.loads(iez("db", "show", "--json", "--store", self.url).stdout)
        self.assertEqual((shown["runs"], shown["files"], shown["schema"]), (2, 40, 4))
        self.assertEqual(shown["applications"], [{"owner": "ann", "name": "writer", "runs": 2}])
        self.assertIn("runs, with files", iez("db", "show", "--store", self.url).stdout)
        self.assertTrue(json.loads(iez("db", "check", "--json", "--store", self.url).stdout)["whole"])
        environment = {**os.environ, "IEZ_STORE": self.url}
        self.assertEqual(json.loads(iez("db", "show", "--json", env=environment).stdout)["runs"], 2)

    def test_a_file_that_is_no_database(self):
        for content in (b"\x89PNG\r\n\x1a\n" + bytes(5000), b"notes\n" * 500):
            path = self.file("notes", content)
            path.chmod(0o600)
            for command in (("db", "show"), ("db", "check"), ("db", "migrate"), ("app", "list"), ("plan", "explain", "/x")):
                with self.subTest(command=command):
                    told = iez(*command, "--store", path)
                    self.assertEqual((told.returncode, told.stdout), (1, ""))
                    self.assertIn(f"{path}: no interaction database, nor another one of SQLite; choose another file, or move this one away", told.stderr)
                    self.assertNotIn("PRAGMA", told.stderr)
            self.assertEqual(path.read_bytes(), content)

    @unittest.skipUnless(os.geteuid() == 0, "only root runs things by sudo")
    def test_by_sudo_no_database_of_root_is_left_among_the_files_of_a_user(self):
        home = self.folder / "home"
        home.mkdir()
        os.chown(home, 65534, 65534)
        empty = self.file("none.jsonl", b"")
        by_sudo = {**os.environ, "SUDO_UID": "65534", "SUDO_USER": "nobody"}
        refused = iez("db", "import", empty, "--store", home / "deep/iez.db", env=by_sudo)
        self.assertEqual((refused.returncode, list(home.iterdir())), (1, []), refused.stderr)
        self.assertRegex(refused.stderr, "made by sudo, it would belong to root in a directory of nobody.*run as nobody, without sudo")
        # Among root's own files it may be, and without sudo anywhere.
        without = {name: value for name, value in os.environ.items() if name != "SUDO_UID"}
        for place, environment in ((self.folder / "mine.db", by_sudo), (home / "iez.db", without)):
            self.assertNotIn("made by sudo", iez("db", "import", empty, "--store", place, env=environment).stderr)
            self.assertTrue(place.exists())

    def test_damage_is_told(self):
        import sqlite3
        with sqlite3.connect(self.folder / "iez.db") as database:
            database.execute("DELETE FROM allocated WHERE number = 3")
        check = iez("db", "check", "--store", self.url)
        self.assertEqual(check.returncode, 1)
        self.assertIn("is half: it has not as many rows as it says", check.stdout)

    def test_export_and_import(self):
        file = self.folder / "all.jsonl"
        self.assertEqual(iez("db", "export", "-o", file, "--store", self.url).returncode, 0)
        other = f"sqlite:{self.folder}/other/iez.db"
        done = json.loads(iez("db", "import", file, "--json", "--store", other).stdout)
        self.assertEqual((done["runs"], done["present"]), (2, 0))
        done = json.loads(iez("db", "import", file, "--json", "--store", other).stdout)
        self.assertEqual((done["runs"], done["present"]), (0, 7))
        self.assertEqual(exported(other), exported(self.url))
        cut = self.file("cut.jsonl", "".join(file.read_text().splitlines(keepends=True)[:-1]))
        result = iez("db", "import", cut, "--store", f"sqlite:{self.folder}/third.db")
        self.assertEqual(result.returncode, 1)
        self.assertIn("the export is cut off", result.stderr)

    def test_migrate(self):
        self.assertIn("nothing to do", iez("db", "migrate", "--store", self.url).stdout)
        self.assertEqual(json.loads(iez("db", "migrate", "--dry-run", "--json", "--store", self.url).stdout)["steps"], [])

    def test_no_database_is_made_by_looking(self):
        result = iez("db", "show", "--store", f"{self.folder}/none.db")
        self.assertEqual(result.returncode, 1)
        self.assertIn("`iez run` makes one", result.stderr)
        self.assertFalse((self.folder / "none.db").exists())

    def test_applications(self):
        shown = json.loads(iez("app", "show", "writer", "--owner", "ann", "--json", "--store", self.url).stdout)
        self.assertEqual([run["files"] for run in shown["runs"]], [20, 20])
        self.assertEqual((shown["prediction"]["rows"], shown["allocation"]["created"]), (30, 30))
        self.assertIn("plan plan-1", iez("app", "show", "writer", "--owner", "ann", "--store", self.url).stdout)
        self.assertIn("writer", iez("app", "list", "--all", "--store", self.url).stdout)
        wrong = iez("app", "show", "writr", "--owner", "ann", "--store", self.url)
        self.assertIn("is 'writer' meant?", wrong.stderr)
        import sqlite3
        with sqlite3.connect(self.folder / "iez.db") as database:
            database.execute("UPDATE applications SET owner = ?", (USER.encode(),))
        gone = json.loads(iez("app", "forget", "writer", "--json", "--store", self.url).stdout)
        self.assertEqual(gone, {"name": "writer", "runs": 2, "files": 40, "predictions": 2, "allocations": 2})
        self.assertEqual(json.loads(iez("app", "list", "--json", "--store", self.url).stdout)["applications"], [])


class LosingProxy:
    """Between a client and MariaDB: passes every second COMMIT on, waits until it took effect, and hangs up instead of answering."""

    def __init__(self, server, path):
        self.server, self.lost, self.commits, self.sockets = str(server), 0, 0, []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        for one in (self.listener, *self.sockets):
            one.close()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            self.sockets += [client, server]
            server.connect(self.server)
            losing = threading.Event()
            for source, sink, handle in ((client, server, self.from_client), (server, client, self.from_server)):
                threading.Thread(target=self.pass_on, args=(source, sink, handle, losing), daemon=True).start()

    def pass_on(self, source, sink, handle, losing):
        try:
            while data := source.recv(1 << 20):
                if not handle(data, losing):
                    break
                sink.sendall(data)
        except OSError:
            pass
        for one in (source, sink):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def from_client(self, data, losing):
        # A packet: three bytes of length, a number, 3 for a query, and its text.
        if data[4:5] == b"\x03" and data[5:].upper().startswith(b"COMMIT"):
            self.commits += 1
            if self.commits % 2 == 0:
                losing.set()
        return True

    def from_server(self, _, losing):
        if losing.is_set():
            self.lost += 1
            return False
        return True


@unittest.skipUnless(shutil.which("mariadbd", path="/usr/sbin:" + os.environ["PATH"]), "MariaDB is not installed")
class Mariadb(Database):
    @classmethod
    def setUpClass(cls):
        # In memory where there is room: what is killed here is the server, not the machine.
        memory = pathlib.Path("/dev/shm")
        roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 500 << 20
        folder = tempfile.TemporaryDirectory(prefix="iez-mariadb-", dir=memory if roomy else None)
        cls.addClassCleanup(folder.cleanup)
        cls.data = pathlib.Path(folder.name)
        cls.data.chmod(0o755)
        install = subprocess.run(["mariadb-install-db", "--no-defaults", f"--datadir={cls.data}/data", "--user=" + USER,
                                  "--auth-root-authentication-method=normal", "--skip-test-db"],
                                 capture_output=True, text=True, check=False, timeout=120)
        assert install.returncode == 0, install.stdout + install.stderr
        cls.server = None
        cls.addClassCleanup(lambda: cls.stop())
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", cls.data / "key.pem", "-out",
                        cls.data / "certificate.pem", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
                       check=True, capture_output=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            cls.port = free.getsockname()[1]
        cls.serve()
        cls.sql("CREATE DATABASE iez; CREATE USER 'iez'@'localhost' IDENTIFIED BY 'se/cret';"
                "GRANT ALL ON iez.* TO 'iez'@'localhost';"
                "CREATE USER 'far'@'127.0.0.1' IDENTIFIED BY 'away' REQUIRE SSL; GRANT ALL ON iez.* TO 'far'@'127.0.0.1'")
        cls.url = f"mysql://iez:se%2Fcret@localhost/iez?socket={cls.data}/s"

    @classmethod
    def serve(cls):
        program = shutil.which("mariadbd", path="/usr/sbin:" + os.environ["PATH"])
        cls.server = subprocess.Popen([program, "--no-defaults", f"--datadir={cls.data}/data", f"--socket={cls.data}/s",
                                       "--bind-address=127.0.0.1", f"--port={cls.port}", "--skip-name-resolve",
                                       f"--ssl-cert={cls.data}/certificate.pem", f"--ssl-key={cls.data}/key.pem", "--user=" + USER, "--innodb-buffer-pool-size=32M", "--innodb-log-file-size=16M",
                                       f"--pid-file={cls.data}/pid"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(300):
            if cls.sql("SELECT 1", check=False).returncode == 0:
                return
            time.sleep(0.1)
        raise AssertionError("MariaDB did not start")

    @classmethod
    def stop(cls, how=signal.SIGTERM):
        if cls.server and cls.server.poll() is None:
            cls.server.send_signal(how)
            cls.server.wait(60)

    @classmethod
    def sql(cls, text, check=True):
        return subprocess.run(["mariadb", "--no-defaults", "-u", "root", f"--socket={cls.data}/s", "-N", "-B", "-e", text],
                              capture_output=True, text=True, check=check, timeout=60)

    def setUp(self):
        super().setUp()
        self.sql("DROP DATABASE iez; CREATE DATABASE iez")

    def test_the_suite_of_the_module(self):
        result = subprocess.run([UNIT, "--gtest_filter=*/mariadb*", "--gtest_brief=1"], capture_output=True, text=True, check=False,
                                timeout=200, env={**os.environ, "IEZ_TEST_MARIADB": self.url})
        self.assertEqual(result.returncode, 0, result.stdout[-4000:] + result.stderr[-2000:])
        self.assertNotIn(" 0 tests", result.stdout)

    def test_a_server_killed_in_the_middle(self):
        rounds = 12 if LONG else 3
        writer = self.start(self.url, 0, 100_000)
        lines = []
        for _ in range(rounds):
            for _ in range(RANDOM.randrange(3, 30)):
                lines.append(writer.stdout.readline())
            self.stop(signal.SIGKILL)
            self.serve()
        for _ in range(6):
            lines.append(writer.stdout.readline())  # it goes on
        writer.send_signal(signal.SIGKILL)
        lines += writer.stdout.read().splitlines()
        writer.wait()
        self.assertEqual([line for line in lines if line.startswith("error")], [])
        self.expect_all(self.url, lines)
        self.assertEqual(self.sql("SELECT count(*) - count(DISTINCT run_key) FROM iez.runs").stdout.strip(), "0")

    def test_killed_writers(self):
        lines = []
        for number in range(30 if LONG else 6):
            writer = self.start(self.url, number * 100_000, 100_000)
            for _ in range(RANDOM.randrange(1, 10)):
                lines.append(writer.stdout.readline())
            writer.send_signal(signal.SIGKILL)
            lines += writer.stdout.read().splitlines()
            writer.wait()
        self.expect_all(self.url, lines)

    def test_answers_to_commits_that_are_lost(self):
        proxy = LosingProxy(self.data / "s", self.folder / "proxy")
        self.addCleanup(proxy.close)
        writer = self.start(self.url.replace(str(self.data / "s"), str(self.folder / "proxy")), 0, 60 if LONG else 15)
        lines = writer.stdout.read().splitlines()
        self.assertEqual(writer.wait(), 0, lines[-1:])
        self.assertGreater(proxy.lost, 5)
        self.assertEqual([line for line in lines if line.startswith("error")], [], f"seed {SEED}")
        self.expect_all(self.url, lines)
        told = sum(line.startswith("run ") for line in lines)
        self.assertEqual(self.sql("SELECT count(*), count(DISTINCT run_key) FROM iez.runs").stdout.split(), [str(told)] * 2,
                         "each took effect once")

    def test_tls(self):
        url = f"mysql://far:away@127.0.0.1:{self.port}/iez?tls=on&ca="
        subprocess.run([WRITER, f"{url}{self.data}/certificate.pem", "0", "1"], check=True, capture_output=True)
        self.assertEqual(json.loads(iez("db", "show", "--json", "--store", self.url).stdout)["runs"], 1)
        plain = iez("db", "show", "--store", url.replace("tls=on&ca=", "tls=off"))
        self.assertEqual(plain.returncode, 1)
        self.assertIn("Access denied", plain.stderr)
        other = self.folder / "other.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", self.folder / "k", "-out", other, "-days",
                        "2", "-subj", "/CN=127.0.0.1"], check=True, capture_output=True)
        wrong = iez("db", "show", "--store", f"{url}{other}")
        self.assertEqual(wrong.returncode, 1)
        self.assertRegex(wrong.stderr, "(?i)certificate")

    def test_a_wrong_password_is_told_without_it(self):
        result = iez("db", "show", "--store", self.url.replace("se%2Fcret", "wrong-one"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("Access denied", result.stderr)
        self.assertNotIn("wrong-one", result.stderr)

    def test_the_password_in_a_file(self):
        file = self.file("password", "se/cret\n")
        subprocess.run([WRITER, self.url, "0", "1"], check=True, capture_output=True)
        url = self.url.replace(":se%2Fcret", "") + f"&password_file={file}"
        self.assertEqual(json.loads(iez("db", "show", "--json", "--store", url).stdout)["runs"], 1)
        rows = self.sql("SELECT file_name, stripe_size, stripe_count, `rank`, ost_list FROM iez.placements LIMIT 1").stdout
        self.assertEqual(rows.split(), ["/next/0", "1048576", "1", "-1", "0"])


if __name__ == "__main__":
    print(f"seed {SEED}")
    unittest.main()
