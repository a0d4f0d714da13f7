#!/usr/bin/env bash
# A tour of single commands: iez on captures of real Lustre servers, and on a made-up testbed. Needs no Lustre, no root, and changes nothing.
# IEZ is the program; by default the one that `make demo` builds.
set -euo pipefail

if [[ -n ${IEZ-} ]]; then IEZ=$(realpath -m -- "$IEZ"); fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
iez_program=${IEZ:-$PWD/build/release/apps/iez/iez}
if [[ ! -x $iez_program ]]; then
  echo "tour: $iez_program is not there; run 'make demo', or set IEZ" >&2
  exit 1
fi

iez() { "$iez_program" "$@"; }

# step HEADING COMMAND: the command as one would type it, and what it prints.
step() {
  printf '\n== %s\n\n$ %s\n' "$1" "$2"
  eval "$2"
}

readonly CAPTURES=tests/fixtures/captures
readonly EXAMPLES=examples

printf 'iez is %s; the commands run in %s\n' "$iez_program" "$PWD"

step 'A server: its targets, how full, how balanced' \
  "iez status --root $CAPTURES/lustre-2.17.0-after"
step 'An old server, which is MDS too and so knows the targets of another' \
  "iez status --root $CAPTURES/lustre-2.10.1"
step 'Who does how much: rates over the life of each job' \
  "iez top --root $CAPTURES/lustre-2.17.0-after --limit 8"
step 'The same server at two times: rates between the two' \
  "iez top --root $CAPTURES/lustre-2.17.0-after --since $CAPTURES/lustre-2.17.0-before --limit 8"
step 'Where the two largest jobs are' \
  "iez top --root $CAPTURES/lustre-2.17.0-after --per ost --limit 2"
step 'How a progressive file is striped, from the bytes of its attribute' \
  'iez layout show --raw tests/fixtures/lustre-2.17.0/xattr/pfl.lustre.lov.bin'
step 'Where 32 files about to be written should go, so that all OSTs end equally full' \
  "iez place -c $EXAMPLES/clusters/iez-testbed.toml -q $EXAMPLES/requests/hacc-and-ior.csv --limit 4"
step 'Six policies on the same files, on four batches; 1 is perfectly even' \
  "iez place --compare -c $EXAMPLES/clusters/iez-testbed.toml -q $EXAMPLES/requests/ior-count8.csv -q $EXAMPLES/requests/ior-count4.csv \
    -q $EXAMPLES/requests/hacc-count8.csv -q $EXAMPLES/requests/hacc-and-ior.csv"
step 'Ten jobs of 160 stripes on 480 OSTs: how many share one' \
  'iez contention --osts 480 --stripes 160 --jobs 10'
step 'A stripe count that is fast, and leaves others alone' \
  'iez advise --machine lscratchc --ranks 1024 --ranks-per-node 16 --bytes 400G --shared --others 160,160,160'
step 'What an application wrote: the text of a Darshan log' \
  'iez trace show tests/fixtures/darshan/sample-goodost-3.10.txt --limit 4'
step 'A series of checkpoints, every eighth large: what comes next' \
  'iez forecast series tests/golden/forecast/traces/ckpt_mix.csv --plot'
step 'From three runs of a program to the files of its fourth; and how that was in the end' \
  "iez forecast run $EXAMPLES/traces/run1.csv $EXAMPLES/traces/run2.csv $EXAMPLES/traces/run3.csv --score $EXAMPLES/traces/run4.csv"
step 'For programs: one line of JSON, here its front' \
  "iez top --root $CAPTURES/lustre-2.17.0-after --job dd.1000 --json | cut -c 1-300"

cat <<'NEXT'

== What next

On a Lustre server or client:  iez status;  iez top --watch
On any machine:                docs/guide/captures.md tells how to take a capture
All there is to know:          docs/guide/user-guide.md, iez help, iez help top
Does it all work here?         make test
NEXT
