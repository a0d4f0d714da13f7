#!/usr/bin/env bash
# What `make demo` runs: the closed loop on a lab; see `iez demo --help`. IEZ is the program; by default the one that `make demo` builds.
# Arguments are those of `iez demo`. The lab is taken down however this ends: `iez demo` sees to it.
set -euo pipefail

if [[ -n ${IEZ-} ]]; then IEZ=$(realpath -m -- "$IEZ"); fi
root=$(realpath -- "$(dirname "${BASH_SOURCE[0]}")/..")
iez_program=${IEZ:-$root/build/release/apps/iez/iez}
if [[ ! -x $iez_program ]]; then
  echo "demo: $iez_program is not there; run 'make demo', or set IEZ" >&2
  exit 1
fi
# A container may have no /dev/fuse, and then no mounts. What needs none is shown instead.
if [[ ! -w /dev/fuse ]] || ! command -v fusermount3 >/dev/null; then
  echo 'demo: the lab needs /dev/fuse and fusermount3, which are not here (docker run --device /dev/fuse --cap-add SYS_ADMIN);' >&2
  echo 'demo: here is a tour of single commands instead' >&2
  exec "$root/examples/tour.sh"
fi
exec "$iez_program" demo "$@"
