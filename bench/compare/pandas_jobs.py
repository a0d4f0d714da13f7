"""The summary and the ten analyses of `iez jobs report` in pandas, as somebody who knows pandas writes them: vectorised, no loops over rows.

usage: pandas_jobs.py JOBS.csv SERIES.csv
Prints one JSON document: seconds to read, seconds of each analysis, and some answers to compare with.
"""

import json
import sys
import time

import numpy as np
import pandas as pd

METADATA = ["opens", "closes", "creates", "mkdirs", "mknods", "renames", "rmdirs", "unlinks"]
JOB_COLUMNS = {"cluster": "category", "job": "str", "uid": "category", "started": "int64", "ended": "int64", "nodes": "int32", "memory": "float64",
               "read_bytes": "float64", "write_bytes": "float64", "write_calls": "float64", "silent_nodes": "int32", **{name: "float64" for name in METADATA}}
SERIES_COLUMNS = {"cluster": "category", "target": "category", "job": "category", "sampled": "int64", "seconds": "int32", "opens": "float64", "closes": "float64",
                  "read_bytes": "float64", "write_bytes": "float64"}


def read(path, columns):
    return pd.read_csv(path, comment="#", usecols=list(columns), dtype=columns)


def pick(table, which, names):
    """Rows and columns, without a copy of all the others."""
    which = which.to_numpy()
    return pd.DataFrame({name: table[name].array[which] for name in names}, index=table.index[which], copy=False)


def duration_and_nodes(jobs):
    kept = pick(jobs, jobs.seconds < 24 * 3600, ["cluster", "seconds", "nodes"])
    grouped = kept.groupby("cluster", observed=True)
    statistics = grouped[["seconds", "nodes"]].agg(["count", "min", "max", "mean", "median"])
    shares = kept.assign(short=kept.seconds < 7200, few=kept.nodes < 100).groupby("cluster", observed=True)[["short", "few"]].mean()
    points = []
    for metric in ("seconds", "nodes"):
        bins = np.ceil(np.log10(np.maximum(kept[metric].to_numpy(), 1)) * 40)
        counts = kept.groupby([kept.cluster, bins], observed=True).size()
        points.append(counts.groupby(level=0, observed=True).cumsum())
    return statistics, shares, points


def read_and_write_shares(jobs):
    users = jobs.groupby(["cluster", "uid"], observed=True).agg(jobs=("nodes", "size"), read=("read_bytes", "sum"), written=("write_bytes", "sum")).reset_index()
    users["share"] = users.written / (users.read + users.written)
    histogram = users.dropna().groupby(["cluster", (users.share * 10).clip(upper=9).fillna(0).astype(int)], observed=True).size()
    return users.sort_values("written", ascending=False), histogram


def write_efficiency(jobs):
    io = pick(jobs, jobs.bytes > 0, ["cluster", "uid", "write_bytes", "write_calls"])
    people = io.groupby(["cluster", "uid"], observed=True)[["write_bytes", "write_calls"]].sum().reset_index()
    answers = {}
    for name, table in (("jobs", io), ("users", people)):
        a_call = table.write_bytes / table.write_calls.replace(0, np.nan)
        mean_bytes = table.groupby("cluster", observed=True).write_bytes.transform("mean")
        mean_call = a_call.groupby(table.cluster, observed=True).transform("mean")
        heavy = table.write_bytes > mean_bytes
        inefficient = heavy & (a_call < mean_call)
        answers[name] = pd.DataFrame({"cluster": table.cluster, "heavy": heavy, "inefficient": inefficient, "efficient": heavy & (a_call > mean_call),
                                      "bytes": table.write_bytes, "inefficient_bytes": table.write_bytes.where(inefficient, 0)}).groupby(
                                          "cluster", observed=True).sum()
        answers[name + " range"] = (table[table.write_bytes > 0].groupby("cluster", observed=True).write_bytes.agg(["size", "min", "max"]),
                                    a_call.groupby(table.cluster, observed=True).agg(["count", "max"]))
    writes = io[(io.write_bytes > 0) & (io.write_calls > 0)]
    sizes = np.floor(np.log2(np.maximum(writes.write_bytes / writes.write_calls, 1))).astype(int)
    return answers, writes.groupby([writes.cluster, sizes], observed=True).write_bytes.agg(["size", "sum"])


def metadata_and_writes(jobs):
    wrote = pick(jobs, jobs.write_bytes > 0, ["cluster", "write_bytes", "metadata_calls", *METADATA])
    answers = {}
    for cluster, table in wrote.groupby("cluster", observed=True):
        bytes_of = table.write_bytes.to_numpy()
        logs_of = np.log10(bytes_of)
        answers[cluster] = []
        with np.errstate(divide="ignore", invalid="ignore"):
            for name in (*METADATA, "metadata_calls"):
                count = table[name].to_numpy()
                some = count > 0
                answers[cluster].append((np.corrcoef(count, bytes_of)[0, 1], np.corrcoef(np.log10(count[some]), logs_of[some])[0, 1],
                                         count.sum()))
    calls = wrote.metadata_calls
    some = wrote[calls > 0]
    x = np.floor(np.log10(some.write_bytes) * 3)
    y = np.floor(np.log10(calls[calls > 0]) * 2)
    return answers, some.groupby([some.cluster, x, y], observed=True).size()


def metadata_servers(jobs, series):
    mdts = series[series.target.isin([name for name in series.target.cat.categories if "-MDT" in name])]
    grouped = mdts.groupby(["cluster", "target"], observed=True)
    targets = grouped[["opens", "closes"]].sum().assign(jobs=grouped.job.nunique())
    targets["share"] = targets.opens / targets.groupby(level=0, observed=True).opens.transform("sum")
    unclosed = (jobs.opens - jobs.closes).clip(lower=0)
    few = pd.DataFrame({"cluster": jobs.cluster, "uid": jobs.uid, "opens": jobs.opens, "closes": jobs.closes, "unclosed": unclosed}, copy=False)
    by_cluster = few.groupby("cluster", observed=True)[["opens", "closes", "unclosed"]].sum()
    forgetful = few[unclosed > 0].groupby(["cluster", "uid"], observed=True)[["opens", "unclosed"]].sum()
    return targets, by_cluster, forgetful.nlargest(20, "unclosed")


def days(jobs):
    table = pd.DataFrame({"cluster": jobs.cluster, "key": jobs.started // 86400, "uid": jobs.uid, "bytes": jobs.bytes, "seconds": jobs.seconds})
    groups = table.groupby(["cluster", "key"], observed=True)
    sums = groups.bytes.agg(["size", "sum"]).reset_index()
    longest = table.loc[groups.seconds.idxmax(), ["cluster", "key", "bytes", "seconds"]]
    users = table.loc[table.bytes > 0, ["cluster", "key", "uid", "bytes"]]
    users = users.groupby(["cluster", "key", "uid"], observed=True).bytes.sum().reset_index()
    answers = []
    for of in (lambda day: day, lambda day: (day + 3) % 7 + 1):
        all_of = sums.assign(key=of(sums.key)).groupby(["cluster", "key"], observed=True)[["size", "sum"]].sum()
        one = longest.assign(key=of(longest.key)).sort_values("seconds").drop_duplicates(["cluster", "key"], keep="last")
        one = one.set_index(["cluster", "key"]).bytes
        by_user = users
        if answers:
            by_user = users.assign(key=of(users.key)).groupby(["cluster", "key", "uid"], observed=True).bytes.sum().reset_index()
        heaviest = by_user.groupby(["cluster", "key"], observed=True).bytes.max()
        answers.append((all_of, one / all_of["sum"], heaviest / all_of["sum"]))
    return answers


def prepare(jobs, series):
    span = np.maximum(series.seconds, 60)
    minutes = series.assign(slot=series.sampled // span * span, span=span).groupby(["cluster", "job", "slot"], observed=True).agg(
        span=("span", "max"), read_bytes=("read_bytes", "sum"), write_bytes=("write_bytes", "sum")).reset_index()
    minutes["job"] = minutes.job.astype(str)
    seen = pick(jobs, jobs.job.isin(minutes.job.unique()), ["cluster", "job", "uid", "started", "ended", "nodes", "memory"])
    minutes = minutes.merge(seen, on=["cluster", "job"], how="left")
    minutes = minutes[(minutes.started <= minutes.slot + minutes.span) & (minutes.slot <= minutes.ended + 600)]
    minutes["io"] = np.where(minutes.read_bytes + minutes.write_bytes > 0, minutes.span / 60, 0)
    minutes["writing"] = np.where(minutes.write_bytes > 0, minutes.span / 60, 0)
    keys = ["cluster", "job", "started"]
    runs = minutes.groupby(keys, observed=True).agg(io=("io", "sum"), writing=("writing", "sum"), seen=("span", "sum"), read_bytes=("read_bytes", "sum"),
                                                    write_bytes=("write_bytes", "sum"), ended=("ended", "first"), uid=("uid", "first"),
                                                    nodes=("nodes", "first"), memory=("memory", "first")).reset_index()
    runs["minutes"] = np.maximum(runs.seen / 60, (runs.ended - 1) // 60 - runs.started // 60 + 1)
    writing = minutes[minutes.write_bytes > 0].sort_values(keys + ["slot"])
    begins = ~((writing.slot - writing.slot.shift() == writing.span) & (writing.job == writing.job.shift()) & (writing.started == writing.started.shift()))
    bursts = writing.assign(burst=begins.cumsum()).groupby("burst").agg(cluster=("cluster", "first"), job=("job", "first"), started=("started", "first"),
                                                                       minutes=("writing", "sum"), bytes=("write_bytes", "sum"))
    return runs, bursts.merge(runs[keys + ["io", "memory"]], on=keys)


def io_share(runs):
    some = runs[runs.io > 0]
    share = (some.io / some.minutes).clip(upper=1)
    bins = (share * 10).clip(upper=9).astype(int)
    return share.groupby(some.cluster, observed=True).agg(["size", "mean", "median"]), share[some.write_bytes > 0].mean(), some.groupby([some.cluster, bins], observed=True).size()


def burst_classes(runs, bursts):
    answers = []
    reading = runs[runs.io > runs.writing]
    for values, edges in ((bursts.bytes / bursts.memory, [0, 0.01, 0.05, 0.1, 0.5, 1.0000001, np.inf]), (bursts.bytes, [0, 1e3, 1e6, 1e9, 1e12, np.inf])):
        parts = bursts.assign(size=np.digitize(values, edges))
        extra = reading.assign(size=1 if len(edges) == 7 else 0, minutes=reading.io - reading.writing)
        table = pd.concat([parts[["cluster", "job", "started", "size", "minutes", "io"]], extra[["cluster", "job", "started", "size", "minutes", "io"]]])
        by_job = table.groupby(["cluster", "job", "started", "size"], observed=True).agg(minutes=("minutes", "sum"), io=("io", "first")).reset_index()
        by_job["mostly"] = by_job.minutes / by_job.io > 0.5
        answers.append(by_job.groupby(["cluster", "size"], observed=True).agg(minutes=("minutes", "sum"), jobs=("job", "size"), mostly=("mostly", "sum")))
    largest = bursts.assign(share=bursts.bytes / bursts.memory).groupby(["cluster", "job", "started"], observed=True).share.max()
    return answers, (largest > 0.5).sum()


def contention(jobs, runs, series):
    moved = jobs.groupby([jobs.cluster, jobs.started // 3600 % 24], observed=True).bytes.agg(["size", "sum"])
    servers = series.groupby([series.cluster, series.target, series.sampled // 3600], observed=True)[["read_bytes", "write_bytes"]].sum().reset_index()
    by_hour = servers.groupby([servers.cluster, servers.sampled % 24], observed=True)[["read_bytes", "write_bytes"]].sum()
    some = runs[runs.io > 0]
    key = [some.cluster, some.uid, some.nodes, np.round(np.log2(1 + some.write_bytes)), np.round(np.log2(1 + some.read_bytes))]
    groups = some.groupby(key, observed=True).io
    alike = groups.transform("size") >= 3
    ratio = (some.io / groups.transform("max"))[alike]
    return moved, by_hour, ratio.groupby([some.cluster[alike], some.started[alike] // 3600 % 24], observed=True).agg(["size", "mean"])


def advice(jobs):
    hour = jobs.started // 3600 % 24
    by_hour = jobs.groupby([jobs.cluster, hour], observed=True).bytes.sum()
    bad = by_hour > 1.5 * by_hour.groupby(level=0, observed=True).transform("mean")
    sums = {name: jobs[name] for name in ("read_bytes", "write_bytes", "write_calls", "opens", "seconds", "bytes")}
    unclosed = (jobs.opens - jobs.closes).clip(lower=0)
    table = pd.DataFrame({"cluster": jobs.cluster, "uid": jobs.uid, **sums, "unclosed": unclosed, "calls": jobs.metadata_calls}, copy=False)
    users = table.groupby(["cluster", "uid", hour.rename("hour")], observed=True)[
        ["read_bytes", "write_bytes", "write_calls", "opens", "unclosed", "calls", "seconds", "bytes"]].sum().reset_index()
    users["busy"] = users.bytes * users.set_index(["cluster", "hour"]).index.isin(bad[bad].index)
    people = users.groupby(["cluster", "uid"], observed=True).sum(numeric_only=True).nlargest(50, "bytes")
    halves = {}
    for cluster, part in pick(jobs, jobs.bytes > 0, ["cluster", "bytes"]).groupby("cluster", observed=True).bytes:
        ordered = np.sort(part.to_numpy())[::-1]
        halves[cluster] = int(np.searchsorted(np.cumsum(ordered), ordered.sum() / 2) + 1)
    return people, halves, by_hour[bad]


def summary(jobs, series):
    what = jobs.groupby("cluster", observed=True).agg(jobs=("nodes", "size"), first=("started", "min"), last=("started", "max"),
                                                      read=("read_bytes", "sum"), written=("write_bytes", "sum"), silent=("silent_nodes", "sum"))
    what["users"] = jobs.groupby(["cluster", "uid"], observed=True).size().groupby(level=0, observed=True).size()
    seen = series.groupby("cluster", observed=True).agg(rows=("seconds", "size"), jobs=("job", "nunique"), targets=("target", "nunique"),
                                                        first=("sampled", "min"), last=("sampled", "max"), read=("read_bytes", "sum"),
                                                        written=("write_bytes", "sum"))
    return what, (jobs.bytes > 0).groupby(jobs.cluster, observed=True).sum(), seen


def main():
    start = time.perf_counter()
    jobs = read(sys.argv[1], JOB_COLUMNS)
    series = read(sys.argv[2], SERIES_COLUMNS)
    read_seconds = time.perf_counter() - start
    times = {}

    def timed(name, work, *arguments):
        begun = time.perf_counter()
        answer = work(*arguments)
        times[name] = time.perf_counter() - begun
        return answer

    def derive():
        jobs["seconds"] = jobs.ended - jobs.started
        jobs["bytes"] = jobs.read_bytes + jobs.write_bytes
        jobs["metadata_calls"] = sum(jobs[name] for name in METADATA)

    timed("derive", derive)
    timed("summary", summary, jobs, series)
    timed("duration_and_nodes", duration_and_nodes, jobs)
    timed("read_and_write_shares", read_and_write_shares, jobs)
    classes, _ = timed("write_efficiency", write_efficiency, jobs)
    timed("metadata_and_writes", metadata_and_writes, jobs)
    timed("metadata_servers", metadata_servers, jobs, series)
    timed("days", days, jobs)
    runs, bursts = timed("prepare", prepare, jobs, series)
    shares = timed("io_share", io_share, runs)
    _, above_half = timed("bursts", burst_classes, runs, bursts)
    timed("contention", contention, jobs, runs, series)
    _, halves, _ = timed("advice", advice, jobs)
    print(json.dumps({"read_s": read_seconds, "analyse_s": sum(times.values()), "times": times,
                      "answers": {"jobs": len(jobs), "inefficient": int(classes["jobs"].inefficient.sum()), "above_half": int(above_half),
                                  "writers_io_share": float(shares[1]), "jobs_of_half": sum(halves.values())}}))


if __name__ == "__main__":
    main()
