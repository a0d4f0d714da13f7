#!/usr/bin/env python3
"""iez jobs: from synthetic rows to a page that a browser draws, with bad input on the way."""

import csv
import html.parser
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

from page_probe import on_a_telephone
from terminal import Session, output_on_terminal

ROOT = pathlib.Path(os.environ.get("IEZ_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
IEZ = pathlib.Path(os.environ.get("IEZ", ROOT / "build/dev/apps/iez/iez")).resolve()
SECTIONS = ("duration-and-nodes", "read-and-write-shares", "write-efficiency", "metadata-and-writes", "metadata-servers", "days", "io-share",
            "bursts", "contention", "advice")
# What the browser is asked of the page: that it drew every picture, and that nothing sticks out.
PROBE = """<script>
const errors = [];
window.addEventListener('error', event => errors.push(String(event.message)));
window.addEventListener('load', () => {
  const plots = [...document.querySelectorAll('svg.chart')].map(plot => {
    const box = plot.getBoundingClientRect();
    const marks = [...plot.querySelectorAll('rect, path.line')].filter(mark => {
      const seen = mark.getBoundingClientRect();
      return seen.width + seen.height > 0;
    });
    return {section: plot.closest('section').id, width: box.width, height: box.height, marks: marks.length};
  });
  const result = document.createElement('pre');
  result.id = 'probe';
  result.textContent = JSON.stringify({errors, plots, scroll: document.documentElement.scrollWidth, inner: window.innerWidth,
    dark: matchMedia('(prefers-color-scheme: dark)').matches, back: getComputedStyle(document.body).backgroundColor,
    loads: performance.getEntriesByType('resource').length});
  document.body.appendChild(result);
});
</script>"""


def run(*arguments, **options):
    return subprocess.run([IEZ, "jobs", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=240,
                          **{"stdin": subprocess.DEVNULL, **options})


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.store = self.folder / "store"

    def ok(self, *arguments, **options):
        result = run(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def fails(self, status, message, *arguments, **options):
        result = run(*arguments, **options)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertIn(message, result.stderr)

    def json(self, *arguments, **options):
        command, *rest = arguments
        return json.loads(self.ok(command, "--json", "--store", self.store, *rest, **options))

    def synth(self, *arguments):
        rows = self.ok("synth", *arguments)
        return rows, self.json("ingest", input=rows, stdin=None)


def table(document, analysis, name):
    """A table of a report as a list of dictionaries."""
    found = next(table for table in document["analyses"][analysis]["tables"] if table["name"] == name)
    return [dict(zip(found["columns"], row)) for row in found["rows"]]


def rounded(value):
    """A document without the last digits of its numbers: sums of several threads come in any order."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return {key: rounded(item) for key, item in value.items()} if isinstance(value, dict) else value


class Store(Case):
    def test_the_sums_of_a_report_are_those_of_the_generator(self):
        rows, added = self.synth("--like", "quartz", "--jobs", "5000", "--seed", "4")
        self.assertEqual((added["given"], added["added"], added["known"], added["skipped"]), (5000, 5000, 0, 0))
        self.assertTrue(rows.startswith("# synthetic: 5000 jobs like quartz, seed 4"))
        jobs, io, writers, read, written, _ = map(int, re.findall(r"\d+", rows[rows.rindex("# sums"):]))
        report = self.json("report")
        self.assertTrue(report["synthetic"])
        summary = dict(zip(report["summary"][0]["columns"], report["summary"][0]["rows"][0]))
        self.assertEqual((summary["jobs"], summary["io_jobs"], summary["read_bytes"], summary["write_bytes"]), (jobs, io, read, written))
        self.assertEqual(table(report, 2, "classes")[0]["writers"], writers)

    def test_the_same_rows_twice_change_nothing(self):
        rows, _ = self.synth("--series", "--jobs", "200")
        before = rounded(self.json("report"))
        again = self.json("ingest", input=rows, stdin=None)
        self.assertEqual((again["added"], again["known"]), (0, again["given"]))
        self.json("compact")
        self.assertEqual(self.json("ingest", input=rows, stdin=None)["added"], 0)
        self.assertEqual(rounded(self.json("report")), before)
        self.assertEqual(self.json("check")["problems"], [])

    def test_ids_with_quotes_newlines_and_emoji(self):
        ids = ["it's", 'say "hi"', "two\nlines", "\N{ROCKET}", "<script>alert(1)</script>", "a,b", "'; DROP TABLE jobs; --"]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["job", "uid", "started", "ended", "write_bytes", "write_calls", "opens"])
        for number, job in enumerate(ids):
            writer.writerow([job, job, 1528329600 + number, 1528329700 + number, 10**10, 10**8, 5000])
        self.assertEqual(self.json("ingest", input=text.getvalue(), stdin=None)["added"], len(ids))
        for job in ids:
            shown = self.json("show", "--", job)["job"]
            self.assertEqual(dict(zip(shown["columns"], shown["rows"][0]))["job"], job)
            self.assertTrue(self.json("user", "--", job)["advice"])
        self.ok("report", "--store", self.store, "--out", self.folder / "report.html", "--md", self.folder / "report.md", "--csv", self.folder / "csv")
        page = (self.folder / "report.html").read_text(encoding="utf-8")
        self.assertNotIn("<script", page)
        html.parser.HTMLParser().feed(page)
        with (self.folder / "csv/02_read_and_write_shares.users.csv").open(encoding="utf-8", newline="") as file:
            self.assertEqual({row["uid"] for row in csv.DictReader(file)}, set(ids))

    def test_hostile_rows(self):
        self.fails(1, "stdin line 1: found a row before any heading", "ingest", "--store", self.store, input="1,2,3\n", stdin=None)
        self.fails(1, "never closed", "ingest", "--store", self.store, input='job,started,ended\n"' + "a" * 3000000, stdin=None)
        added = self.json("ingest", input="job,started,ended\n1,5,4\n2,x,4\n3,4,5\n", stdin=None)
        self.assertEqual((added["added"], added["skipped"]), (1, 2))

    def test_wrong_usage_is_named(self):
        self.ok("ingest", "--store", self.store, input="job,started,ended\n1,4,5\n", stdin=None)
        for message, arguments in (("--from: 'yesterday' is no time", ("report", "--from", "yesterday")),
                                   ("--to is not after --from", ("report", "--from", "2018-02-01", "--to", "2018-01-01")),
                                   ("time zone 'Mars/Olympus' is not known", ("report", "--time-zone", "Mars/Olympus")),
                                   ("would remove everything", ("retain", "--months", "0"))):
            self.fails(2, message, *arguments, "--store", self.store)
        self.fails(2, "did you mean 03_write_efficiency", "sql", "03_write_efficency")
        self.fails(1, "there is no store of jobs", "report", "--store", self.folder / "nowhere")
        self.fails(1, "no job 'nobody'", "show", "nobody", "--store", self.store)

    def test_a_truncated_file_is_named(self):
        self.synth("--jobs", "500")
        victim = sorted(self.store.glob("jobs/*/*.parquet"))[0]
        whole = victim.read_bytes()
        for size in (0, 5, len(whole) // 2, len(whole) - 1):
            victim.write_bytes(whole[:size])
            for command in ("report", "check"):
                self.fails(1, str(victim), command, "--store", self.store)
        victim.write_bytes(whole)
        self.json("check")

    def test_a_full_disk(self):
        mount = self.folder / "small"
        mount.mkdir()
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "none", mount], check=False, capture_output=True).returncode != 0:
            self.skipTest("only root mounts a small file system")
        try:
            rows = self.ok("synth", "--jobs", "20000")
            result = run("ingest", "--store", mount / "store", input=rows, stdin=None)
            self.assertEqual(result.returncode, 1)
            self.assertIn(str(mount / "store"), result.stderr)
            kept = json.loads(self.ok("check", "--json", "--store", mount / "store"))
            self.assertLess(kept["job_rows"], 20000)
            subprocess.run(["mount", "-o", "remount,size=30m", mount], check=True)
            added = json.loads(self.ok("ingest", "--json", "--store", mount / "store", input=rows, stdin=None))
            self.assertEqual(added["added"] + kept["job_rows"], 20000)
            self.assertEqual(added["known"], kept["job_rows"])
            self.assertEqual(json.loads(self.ok("check", "--json", "--store", mount / "store"))["problems"], [])
        finally:
            subprocess.run(["umount", mount], check=True)

    def test_killed_at_any_moment(self):
        rows = self.ok("synth", "--jobs", "30000")
        source = self.folder / "rows.csv"
        source.write_text(rows, encoding="utf-8")
        for delay in (0.05, 0.15, 0.3):
            process = subprocess.Popen([IEZ, "jobs", "ingest", "--store", self.store, source], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                process.wait(timeout=delay)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.json("ingest", source)
        found = self.json("check")
        self.assertEqual((found["job_rows"], found["problems"]), (30000, []))
        self.assertEqual(list(self.store.rglob("*.tmp")), [])

    def test_users_as_hashes(self):
        rows = self.ok("synth", "--jobs", "300")
        self.ok("ingest", "--anonymous", "--store", self.store, input=rows, stdin=None)
        users = {row["uid"] for row in table(self.json("report"), 1, "users")}
        self.assertTrue(all(re.fullmatch("u[0-9a-f]{16}", user) for user in users), users)
        someone = next(row for row in csv.DictReader(line for line in rows.splitlines() if not line.startswith("#")))["uid"]
        self.assertIn(self.json("user", someone)["summary"]["rows"][0][1], users)


class Moments(Case):
    def test_who_shared_with_whom(self):
        # Two jobs on one OST; the small one moves a tenth of what it moves alone.
        lines = ["cluster,target,job,uid,sampled,seconds,read_bytes,write_bytes,read_calls,write_calls"]
        start = 1528329600
        for minute in range(1, 6):
            lines.append(f"c,fs-OST0000,small,1,{start + 60 * minute},60,0,{100 if minute == 3 else 1000},0,1")
        lines.append(f"c,fs-OST0000,large,2,{start + 180},60,0,100000,0,1")
        lines.append(f"c,fs-OST0001,other,3,{start + 180},60,0,5,0,1")
        self.json("ingest", input="\n".join(lines) + "\n", stdin=None)
        moment = self.json("contention", "--at", start + 150)
        jobs = {row[1]: dict(zip(moment["jobs"]["columns"], row)) for row in moment["jobs"]["rows"]}
        self.assertEqual({name: row["suffered"] for name, row in jobs.items()}, {"small": "yes", "large": "no", "other": "no"})
        self.assertAlmostEqual(jobs["small"]["times_usual"], 0.1)
        pair = dict(zip(moment["pairs"]["columns"], moment["pairs"]["rows"][0]))
        self.assertEqual((pair["job"], pair["with_job"], pair["targets"]), ("large", "small", 1))
        life = self.json("show", "small")
        self.assertEqual(len(life["minutes"]["rows"]), 5)
        self.assertEqual(dict(zip(life["bursts"]["columns"], life["bursts"]["rows"][0]))["minutes"], 5)
        self.assertEqual(dict(zip(life["contention"]["columns"], life["contention"]["rows"][0]))["shared_minutes"], 1)


class Words(html.parser.HTMLParser):
    """The text of a page, without that of pictures."""

    def __init__(self, page):
        super().__init__()
        self.hidden, self.text = 0, []
        self.feed(page)

    def handle_starttag(self, tag, _):
        self.hidden += tag in ("style", "svg")

    def handle_endtag(self, tag):
        self.hidden -= tag in ("style", "svg")

    def handle_data(self, data):
        if not self.hidden:
            self.text.append(data)


class Reading(Case):
    """What people read of a report: as a page, as Markdown, and on a terminal."""

    def reports(self, *synth):
        for arguments in synth:
            self.synth(*arguments)
        page, markdown = self.folder / "report.html", self.folder / "report.md"
        text = self.ok("report", "--store", self.store, "--out", page, "--md", markdown)
        words = " ".join("".join(Words(page.read_text(encoding="utf-8")).text).split())
        return self.json("report"), {"page": words, "Markdown": markdown.read_text(encoding="utf-8"), "text": text}

    def test_one_cluster(self):
        document, read = self.reports(("--jobs", "20000"), ("--series", "--jobs", "500"))
        users = {item["who"] for item in document["advice"] if item["audience"] == "user"}
        self.assertGreater(len(users), 15)
        for form, text in read.items():
            with self.subTest(form=form):
                self.assertEqual(text.count("synthetic-quartz"), 1, "the name of the only cluster")
                plain = re.sub(r"`[^`]*`|iez jobs \w+|--[a-z-]+", "", text)
                self.assertEqual(re.findall(r"\b\w*[a-z]_[a-z]\w*\b|options\.|\.sql\b", plain), [], "names of columns and parameters")
                self.assertEqual(re.findall(r"\b0\.000\d+|\bnan\b|\binf\b", plain), [], "raw numbers")
                # Advice is first, and what a user should do is in one place.
                flat = " ".join(text.split())
                self.assertLess(flat.index("Gather writes to 1 MiB or more"), flat.index("How long jobs run"))
                shown = re.findall(r"[Uu]ser (\d+)(?: |: |\*\*: )[\d,]+ jobs? moved", flat)
                self.assertEqual(len(shown), len(set(shown)))
                self.assertLessEqual(set(shown), users)
                self.assertEqual(len(shown), 10 if form == "text" else len(users))
                if form == "text":
                    self.assertIn(f"and {len(users) - 10} more users", flat)
                # What was found is said once.
                for analysis in document["analyses"][:9]:
                    for finding in re.split(r"(?<=\.) On ", analysis["finding"].removeprefix("On ")):
                        sentence = finding.removeprefix("synthetic-quartz, ")
                        self.assertEqual(flat.count(sentence[1:].replace("  ", " ")), 1, sentence)
        for name in ("Monday", "1 s", "512 B to 1 KiB", "05:00"):
            self.assertIn(name, read["page"])
            self.assertIn(name, read["Markdown"])
        self.assertEqual([line for line in read["text"].splitlines() if len(line) > 80], [])
        on_a_telephone(self, self.folder / "report.html")

    def test_several_clusters_are_told_apart(self):
        document, read = self.reports(("--like", "cab", "--jobs", "20000"), ("--jobs", "20000"))
        self.assertEqual({item["cluster"] for item in document["advice"]}, {"synthetic-cab", "synthetic-quartz"})
        for form, text in read.items():
            with self.subTest(form=form):
                for cluster in ("cab", "quartz"):
                    self.assertRegex(" ".join(text.split()), rf"synthetic-{cluster}: \d+\.\d % of 20,000 jobs run less than 2 h")
        self.assertEqual([line for line in read["text"].splitlines() if len(line) > 80], [])
        on_a_telephone(self, self.folder / "report.html")

    def test_what_scripts_read_stays(self):
        self.synth("--series", "--jobs", "200")
        document = self.json("report")
        self.assertEqual(list(document), ["synthetic", "from", "to", "time_zone", "summary", "analyses", "advice", "thresholds"])
        self.assertEqual([analysis["name"] for analysis in document["analyses"]], list(SECTIONS))
        self.assertEqual(list(document["analyses"][0]), ["name", "title", "finding", "sql", "tables"])
        self.assertEqual(list(document["advice"][0]), ["audience", "cluster", "who", "topic", "text", "evidence"])
        self.assertEqual(document["analyses"][0]["tables"][0]["columns"],
                         ["cluster", "metric", "jobs", "least", "most", "mean", "median", "below", "below_what"])
        self.assertEqual({row["weekday"] for row in table(document, 5, "weekdays")}, set(range(1, 8)))
        self.ok("report", "--store", self.store, "--csv", self.folder / "csv")
        for analysis in document["analyses"]:
            for one in analysis["tables"]:
                text = (self.folder / f"csv/{analysis['sql']}.{one['name']}.csv").read_text(encoding="utf-8")
                self.assertEqual(text.splitlines()[0], ",".join(one["columns"]))

    def test_nothing_to_advise(self):
        self.ok("ingest", "--store", self.store, input="job,uid,started,ended,write_bytes,write_calls\n1,2,1528329600,1528329700,5,1\n", stdin=None)
        for arguments in ((), ("--out", "-"), ("--md", "-")):
            self.assertIn("Nothing of what the counters tell calls for advice.", self.ok("report", "--store", self.store, *arguments))

    def test_units_of_bytes(self):
        self.ok("ingest", "--store", self.store, input="job,uid,started,ended,write_bytes,write_calls\n1,2,1528329600,1528329700,5000,1\n", stdin=None)
        page = self.ok("report", "--store", self.store, "--out", "-")
        self.assertIn("Moved, by weekday (kB)</text>", page)
        self.assertNotIn("KB", page)

    def test_a_legend_says_what_the_colours_of_a_heat_map_stand_for(self):
        self.synth("--jobs", "5000")
        page = self.ok("report", "--store", self.store, "--out", "-")
        for title, first, steps in (("bytes of a day, from:", "0 B", 6), ("jobs, from:", "1", 5)):
            with self.subTest(title=title):
                legend = page[page.index(f">{title}</text>"):].split("</svg>")[0]
                swatches = re.findall(r'<rect class="h(\d)"[^>]*/>\n<text[^>]*>([^<]*)</text>', legend)
                self.assertEqual(swatches[0][1], first)
                self.assertEqual([int(colour) for colour, _ in swatches], list(range(6 - steps, 6)))


class Terminal(Case):
    """What only a terminal is told."""

    def slowly(self, command, rows, **options):
        """What went to stdout and what was shown, of a command that gets its input with a pause, so that it takes more than a second on any machine."""
        session = Session((IEZ, "jobs", *command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
        self.addCleanup(session.close)
        half = len(rows) // 2
        session.process.stdin.write(rows[:half].encode())
        session.process.stdin.flush()
        time.sleep(1.2)
        session.process.stdin.write(rows[half:].encode())
        session.process.stdin.close()
        shown = session.until("stdin: ")
        stdout = session.process.stdout.read().decode()
        session.process.stdout.close()
        self.assertEqual(session.end(), 0)
        return stdout, shown + session.rest()

    def test_progress_of_an_ingest(self):
        rows = self.ok("synth", "--jobs", "20000")
        stdout, shown = self.slowly(("ingest", "--json", "--store", self.store), rows)
        self.assertEqual(json.loads(stdout)["added"], 20000)
        self.assertRegex(shown, r"\r\x1b\[Kstdin: [\d.]+ [kM]B read")
        self.assertTrue(shown.endswith("\r\x1b[K"), "the line is wiped")

    def test_progress_fits_the_line(self):
        rows = self.ok("synth", "--jobs", "20000")
        _, shown = self.slowly(("ingest", "--store", self.store), rows, columns=20)
        lines = re.findall(r"\x1b\[K([^\r]+)", shown)
        self.assertTrue(lines)
        self.assertLess(max(map(len, lines)), 20)

    def test_progress_of_an_import(self):
        lines = "".join(f"lustre,ost=fs-OST0000,jobid=j{i} write_bytes={i}i {1700000000 + 60 * (i % 50)}000000000\n" for i in range(5000))
        stdout, shown = self.slowly(("import", "--format", "influx", "--json", "--out", self.folder / "spool", "-"), lines)
        json.loads(stdout)
        self.assertRegex(shown, r"\r\x1b\[Kstdin: [\d.]+ [kM]B read")

    def test_no_progress_elsewhere(self):
        rows = self.ok("synth", "--jobs", "20000")
        with subprocess.Popen([IEZ, "jobs", "ingest", "--store", self.store], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            process.stdin.write(rows[:len(rows) // 2])
            process.stdin.flush()
            time.sleep(1.2)
            stdout, stderr = process.communicate(rows[len(rows) // 2:], timeout=60)
        self.assertEqual((process.returncode, stderr), (0, ""))
        self.assertIn("20000 added", stdout)

    def test_a_million_rows_do_not_run_over_a_terminal(self):
        for arguments in ((), ("--series",), ("--like", "cab")):
            shown, status = output_on_terminal((IEZ, "jobs", "synth", *arguments))
            self.assertEqual(status, 2)
            self.assertRegex(" ".join(shown.split()), r"\d+ jobs would run over the terminal; .*--output.*\| iez jobs ingest.*--jobs 10")
        # Whoever says how many gets them, and so does whoever says where to.
        shown, status = output_on_terminal((IEZ, "jobs", "synth", "--jobs", "3"))
        self.assertEqual((status, shown.count("synthetic-quartz,")), (0, 3))
        _, status = output_on_terminal((IEZ, "jobs", "synth", "--series", "--output", self.folder / "rows.csv"))
        self.assertEqual(status, 0)
        self.assertTrue((self.folder / "rows.csv").read_text(encoding="utf-8").startswith("# synthetic: "))

    def test_how_many_jobs(self):
        for given in ("0", "1000000001", "99999999999999", "99999999999999999999999"):
            began = time.monotonic()
            result = run("synth", "--jobs", given)
            self.assertLess(time.monotonic() - began, 5)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn(f"iez: --jobs: '{given}': expected a whole number from 1 to 1000000000\n", result.stderr)
        self.fails(2, "--seed", "synth", "--seed", "-1")


class Page(Case):
    def browse(self, page, *arguments):
        browser = shutil.which("chromium")
        self.assertTrue(browser, "chromium is not installed: tools/setup test")
        with tempfile.TemporaryDirectory() as profile:
            return subprocess.run([browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
                                   "--disable-component-update", "--disable-sync", "--no-first-run", "--hide-scrollbars", "--force-device-scale-factor=1",
                                   f"--user-data-dir={profile}", "--virtual-time-budget=3000", *arguments, page.as_uri()],
                                  capture_output=True, text=True, check=False, timeout=120)

    def test_a_browser_draws_it(self):
        for arguments in (("--series", "--jobs", "700"), ("--like", "cab", "--jobs", "3000")):
            self.synth(*arguments)
        page = self.folder / "report.html"
        self.ok("report", "--store", self.store, "--out", page)
        text = page.read_text(encoding="utf-8")
        self.assertIsNone(re.search(r"(?:src|href)=\"(?!#)", text), "the page loads something")
        self.assertNotIn("<script", text)
        probed = self.folder / "probed.html"
        probed.write_text(text.replace("</head>", PROBE + "</head>"), encoding="utf-8")
        pictures = os.environ.get("IEZ_SCREENSHOTS")
        for width in (1280, 800, 500):
            for dark in (False, True):
                with self.subTest(width=width, dark=dark):
                    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
                    result = self.browse(probed, f"--window-size={width},900", scheme, "--dump-dom")
                    found = re.search(r'<pre id="probe">(.*?)</pre>', result.stdout, flags=re.DOTALL)
                    self.assertTrue(found, result.stderr[-2000:])
                    probe = json.loads(found[1].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))
                    self.assertEqual(probe["errors"], [])
                    self.assertEqual(probe["loads"], 0)
                    self.assertEqual(probe["dark"], dark)
                    self.assertEqual(probe["back"], "rgb(20, 24, 28)" if dark else "rgb(255, 255, 255)")
                    self.assertLessEqual(probe["scroll"], width)
                    self.assertEqual({plot["section"] for plot in probe["plots"]}, set(SECTIONS))
                    for plot in probe["plots"]:
                        self.assertGreater(plot["width"], 300, plot)
                        self.assertGreater(plot["height"], 100, plot)
                        self.assertGreater(plot["marks"], 0, plot)
                    if pictures:
                        name = pathlib.Path(pictures) / f"jobs-{width}-{'dark' if dark else 'light'}.png"
                        self.browse(page, f"--window-size={width},7000", scheme, f"--screenshot={name}")


if __name__ == "__main__":
    unittest.main()
