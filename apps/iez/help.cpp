#include "help.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace iez::cli {

namespace {

struct Entry {
  std::string_view name;
  std::string_view text;
};

constexpr std::array kExamples{
    Entry{"run", "iez run -- mpirun -n 64 ./simulation"},
    Entry{"status", "iez status --watch --every 10s"},
    Entry{"top", "iez top --watch --sort rate --limit 10"},
    Entry{"layout show", "iez layout show /scratch/me/out.h5"},
    Entry{"layout set", "iez layout set --count 4 --size 1M /scratch/me/out.h5"},
    Entry{"place", "iez place -c cluster.toml -q files.csv --compare"},
    Entry{"place explain", "iez place explain out.3 -c cluster.toml -q files.csv"},
    Entry{"plan compile", "iez plan compile plan.csv -o job.iezplan"},
    Entry{"plan show", "iez plan show simulation-1f0a9c2e"},
    Entry{"plan check", "iez plan check job.iezplan"},
    Entry{"plan explain", "iez plan explain /scratch/me/out.3"},
    Entry{"plan diff", "iez plan diff simulation-1f0a9c2e"},
    Entry{"plan expire", "iez plan expire simulation-1f0a9c2e"},
    Entry{"app list", "iez app list"},
    Entry{"app show", "iez app show simulation-1f0a9c2e"},
    Entry{"app forget", "iez app forget simulation-1f0a9c2e"},
    Entry{"db show", "iez db show"},
    Entry{"db export", "iez db export > backup.jsonl"},
    Entry{"db import", "iez db import backup.jsonl"},
    Entry{"db check", "iez db check"},
    Entry{"db migrate", "iez db migrate --dry-run"},
    Entry{"db serve", "iez db serve --store mysql://iez@db1/iez --listen 127.0.0.1:9853"},
    Entry{"contention", "iez contention --watch --every 5s"},
    Entry{"advise", "iez advise --ranks 1024 --ranks-per-node 16 --bytes 400G --ost-rate 500MB/s"},
    Entry{"tune", "iez tune --dir /scratch/me --budget 25 -- srun -n 64 ./write /scratch/me/f"},
    Entry{"trace show", "iez trace show run7.ieztrace --sort time"},
    Entry{"trace merge", "iez trace merge segments/ -o run7.ieztrace"},
    Entry{"trace export", "iez trace export run7.ieztrace > run7.csv"},
    Entry{"trace import", "iez trace import app.darshan > app.csv"},
    Entry{"log show", "iez log show /scratch/me/out"},
    Entry{"log check", "iez log check /scratch/me/out"},
    Entry{"log flatten", "iez log flatten /scratch/me/out"},
    Entry{"forecast series", "iez forecast series values.csv --plot"},
    Entry{"forecast run", "iez forecast run run1.csv run2.csv run3.csv --ranks 8"},
    Entry{"sim run", "iez sim run demo --sweep congestion.fixed=1..32*2"},
    Entry{"sim compare", "iez sim compare four-jobs more-osts --seeds 8"},
    Entry{"sim list", "iez sim list"},
    Entry{"sim show", "iez sim show lscratchc > mine.toml"},
    Entry{"repro", "iez repro --quick --only placement"},
    Entry{"inject", "iez inject ./simulation"},
    Entry{"doctor", "iez doctor"},
    Entry{"serve", "iez serve --listen 127.0.0.1:9850"},
    Entry{"serve status", "iez serve status https://mds1:9850"},
    Entry{"token", "iez token ann --tokens /etc/iez/tokens --below '/scratch/{user}'"},
    Entry{"lab up", "iez lab up --rate 20MB/s"},
    Entry{"lab down", "iez lab down"},
    Entry{"lab status", "iez lab status"},
    Entry{"lab exec", "iez lab exec -- dd if=/dev/zero of=x bs=1M count=200 conv=fsync"},
    Entry{"lab df", "iez lab df"},
    Entry{"lab fault", "iez lab fault slow ost3 0.1"},
    Entry{"collective explain", "iez collective explain -c 7 -n 64 --nodes 4"},
    Entry{"workload ior", "iez workload ior -n 8 -F -C --verify -b 16M -o /scratch/me/out"},
    Entry{"workload hacc", "iez workload hacc -n 8 100000 /scratch/me/hacc"},
    Entry{"workload flash", "mpirun -n 8 iez workload flash --verify /scratch/me/ck"},
    Entry{"workload chimera", "mpirun -n 8 iez workload chimera /scratch/me/restart"},
    Entry{"demo", "iez demo --case unequal"},
    Entry{"agent", "iez agent --interval 10s"},
    Entry{"agent watch", "iez agent watch --every 5s"},
    Entry{"jobs report", "iez jobs report --store /var/lib/iez/jobs --out report.html"},
    Entry{"jobs show", "iez jobs show 4711 --store /var/lib/iez/jobs"},
    Entry{"jobs user", "iez jobs user ann --store /var/lib/iez/jobs"},
    Entry{"jobs contention", "iez jobs contention --at 2026-06-12T05:30 --store /var/lib/iez/jobs"},
    Entry{"jobs ingest", "iez jobs synth --jobs 1000 | iez jobs ingest --store /tmp/jobs"},
    Entry{"jobs synth", "iez jobs synth --jobs 1000 > jobs.csv"},
    Entry{"jobs check", "iez jobs check --store /var/lib/iez/jobs"},
    Entry{"jobs compact", "iez jobs compact --store /var/lib/iez/jobs"},
    Entry{"jobs retain", "iez jobs retain --months 36 --store /var/lib/iez/jobs"},
    Entry{"jobs sql", "iez jobs sql 03_write_efficiency"},
    Entry{"jobs prolog", "iez jobs prolog --job 4711"},
    Entry{"jobs epilog", "iez jobs epilog --job 4711 --nodes 2"},
    Entry{"jobs collect", "iez jobs collect /var/spool/iez/jobs --wait 1h"},
    Entry{"jobs spool", "iez jobs spool /var/spool/iez"},
    Entry{"jobs import", "iez jobs import prometheus --help"},
    Entry{"keys init", "iez keys init /etc/iez/keys"},
    Entry{"keys add", "iez keys add oss1 --dir /etc/iez/keys"},
    Entry{"keys list", "iez keys list --dir /etc/iez/keys"},
    Entry{"keys show", "iez keys show coordinator --dir /etc/iez/keys"},
    Entry{"bench", "iez bench lustre-parse"},
    Entry{"completion", "source <(iez completion bash)"},
    Entry{"help", "iez help layout set"},
};

constexpr std::string_view kRun = "Run";
constexpr std::string_view kObserve = "Observe";
constexpr std::string_view kPlan = "Plan";
constexpr std::string_view kAdminister = "Administer";
constexpr std::string_view kResearch = "Research";

constexpr std::array kGroups{
    Entry{"run", kRun},
    Entry{"inject", kRun},
    Entry{"doctor", kRun},
    Entry{"demo", kRun},
    Entry{"lab", kRun},
    Entry{"workload", kRun},
    Entry{"status", kObserve},
    Entry{"top", kObserve},
    Entry{"contention", kObserve},
    Entry{"jobs", kObserve},
    Entry{"trace", kObserve},
    Entry{"layout", kPlan},
    Entry{"place", kPlan},
    Entry{"plan", kPlan},
    Entry{"app", kPlan},
    Entry{"advise", kPlan},
    Entry{"tune", kPlan},
    Entry{"collective", kPlan},
    Entry{"log", kPlan},
    Entry{"serve", kAdminister},
    Entry{"agent", kAdminister},
    Entry{"keys", kAdminister},
    Entry{"token", kAdminister},
    Entry{"db", kAdminister},
    Entry{"completion", kAdminister},
    Entry{"help", kAdminister},
    Entry{"forecast", kResearch},
    Entry{"sim", kResearch},
    Entry{"repro", kResearch},
    Entry{"bench", kResearch},
};

std::string_view find(std::span<const Entry> entries, std::string_view name) {
  const auto found = std::ranges::find(entries, name, &Entry::name);
  return found == entries.end() ? std::string_view() : found->text;
}

}  // namespace

std::string_view example_of(std::string_view path) { return find(kExamples, path); }
std::string_view group_of(std::string_view command) { return find(kGroups, command); }

}  // namespace iez::cli
