"""The table of programs_test.py. Commands are those of bash; $MADE holds what program_fixtures.py made.

Output must be the same each time: no times, no numbers of processes, one thread where threads would change the order.
"""

import dataclasses

MIB = 1 << 20
RANDOM = 3 * MIB  # size of $MADE/random


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    command: str
    setup: str = ""
    written: dict = dataclasses.field(default_factory=dict)  # name -> bytes that calls wrote to it, exactly
    unseen: tuple = ()  # new files that the trace need not know: made by programs it cannot see into, or under other names
    loose: tuple = ()  # files of which only the names are compared
    scrub: tuple = ()  # expressions for what differs from run to run
    status: int = 0
    needs: tuple = ()  # programs, or words that program_fixtures.require() knows
    libraries: tuple = ("iez",)  # of LD_PRELOAD
    without: tuple = ()  # of LD_PRELOAD when it is to be without ours
    variables: dict = dataclasses.field(default_factory=dict)
    long: bool = False
    timeout: int = 60


# Rows that say nothing on a lab, and why.
NOT_ON_LAB = {
    "truncate": "fallocate is not for a lab",
    "temporary_names": "O_TMPFILE is not for a lab",
    "write_in_handler": "its timer is faster than a file of a lab is opened, so that nothing but the handler runs",
    "leaving_a_handler": "likewise: whether a write comes through is chance",
}
# Quick rows that a lab makes slow: many small files, or one that many threads share.
SLOW_ON_LAB = ("git", "threads", "other_library_first", "other_library_last", "tar", "gcc", "xargs_parallel")

COREUTILS = [
    Row("cp", "cp $MADE/random a; cp a b; cp --reflink=never a c; cp -b --suffix=.old a b; cp --attributes-only a d; "
        "cp nothing e || echo $?",
        written={"a": RANDOM, "c": RANDOM, "d": 0}, unseen=("b.old",)),
    Row("cp_tree", "cp -a $MADE/tree t; cp -r --preserve=all t u; cp -l u/sparse v; cp -s $PWD/v w; cp -u t/attribute v; "
        "mkdir p; cp --parents t/deep/file1 p",
        unseen=("v",)),
    Row("cp_sparse", "cp --sparse=always $MADE/tree/sparse s; cp --sparse=never s n; du -k s", written={"n": 4 * MIB}),
    Row("dd", "dd if=$MADE/random of=a bs=64k status=none; dd if=a of=b bs=1000 count=7 skip=3 seek=2 status=noxfer; "
        "cat a | dd of=c ibs=7k obs=3k status=noxfer",
        written={"a": RANDOM, "b": 7000, "c": RANDOM}, scrub=(r"\d+\+\d+ records in",)),
    Row("dd_append", "dd if=/dev/zero of=a bs=1k count=3 oflag=append conv=notrunc status=noxfer; "
        "dd if=/dev/zero of=a bs=10 count=1 seek=1 conv=notrunc status=none",
        setup="echo first > a", written={"a": 3082}),
    Row("dd_direct", "dd if=$MADE/random of=a bs=4k count=64 oflag=direct status=noxfer; "
        "dd if=a of=b bs=8k iflag=direct oflag=direct status=noxfer",
        needs=("direct",), written={"a": 262144, "b": 262144}),
    Row("dd_sync", "dd if=$MADE/random of=a bs=256k oflag=sync count=2 status=noxfer; "
        "dd if=a of=b oflag=dsync bs=64k status=noxfer; dd if=a of=c conv=fsync status=noxfer; "
        "dd if=a of=d conv=fdatasync bs=64k status=noxfer",
        written={"a": 524288, "b": 524288, "c": 524288, "d": 524288}),
    Row("dd_excl", "dd if=/dev/zero of=a count=1 conv=excl status=noxfer || echo $?; "
        "dd if=/dev/zero of=b count=1 conv=excl status=noxfer; dd if=/dev/zero of=c count=1 conv=nocreat || echo $?; "
        "dd if=/dev/zero of=b count=2 conv=nocreat,swab status=noxfer",
        setup="echo there > a", written={"b": 1536}),
    Row("dd_full", "dd if=/dev/zero of=/dev/full bs=4k count=2 status=noxfer || echo $?; "
        "dd if=/dev/zero of=a bs=1k count=4 conv=sparse status=noxfer; dd if=/nothing of=b || echo $?",
        written={"a": 0}),
    Row("install", "install -m 751 $MADE/random a; install -D -m 600 a d/e/b; install -d -m 700 f; install -b a d/e/b; "
        "install -C a d/e/b; install -p -t f a d/e/b",
        written={"a": RANDOM}, unseen=("d/e/b~",)),
    Row("tar", "tar -C $MADE --sort=name --mtime=@0 --owner=0 --group=0 -cf a.tar tree; tar -xf a.tar; "
        "tar -C tree --sort=name --mtime=@0 -czf b.tgz .; mkdir u; tar -C u -xpzf b.tgz; tar -rf a.tar --mtime=@0 u; "
        "tar -tf a.tar; tar --delete -f a.tar tree/empty"),
    Row("tar_sparse", "tar -C $MADE/tree --mtime=@0 -S --xattrs -cf a.tar sparse attribute; "
        "tar --xattrs --xattrs-include=* -xf a.tar; tar -df a.tar 2>&1 | grep -v time || true; tar -xOf a.tar attribute | cat",
        loose=("a.tar",)),
    Row("rsync", "rsync -aHX $MADE/tree/ t; rsync -a --delete --stats $MADE/tree/deep/ t | head -3; "
        "rsync -ac --backup --suffix=.old $MADE/lines t/file1",
        needs=("rsync",), unseen=("*.old",)),
    Row("rsync_inplace", "rsync -a --inplace --no-whole-file $MADE/random a; rsync -a --inplace $MADE/random b; "
        "rsync -a --append $MADE/random b; rsync -a --sparse $MADE/tree/sparse c; rsync -a --preallocate $MADE/lines d",
        setup="head -c 1000000 $MADE/random > a; echo changed >> a", needs=("rsync",), written={"b": RANDOM}),
    Row("rsync_failing", "chmod 500 t; rsync -a $MADE/lines $MADE/nothing t/ 2>&1 | grep -c rsync; "
        "rsync -a --max-size=10 $MADE/lines u/", setup="mkdir t", needs=("rsync",)),
    Row("sort", "sort -n -S 256k -T . --parallel=2 -o a $MADE/lines; sort -S 256k -T . --batch-size=2 a > b; "
        "sort -S 256k -T . --compress-program=gzip -r $MADE/lines > c; sort -o a a; sort -m b c -c || echo $?"),
    Row("split", "split -b 200k -d $MADE/random r.; split -n l/5 $MADE/lines l.; "
        "split -l 10000 --filter='gzip -n > $FILE.gz' $MADE/lines z.; csplit -s $MADE/lines 100 200 {3}; "
        "cat r.* | cmp - $MADE/random"),
    Row("truncate", "truncate -s 10M a; truncate -s 5 b; truncate -s +100 b; truncate -c -s 1 c; fallocate -l 1M d; "
        "fallocate -p -o 4096 -l 4096 d; truncate -s -1 nothing/x || echo $?", setup="echo 123456789 > b"),
    Row("text_tools", "sed -n '1,500s/1/one/p' $MADE/lines > a; sed -i.bak s/one/two/ a; "
        "awk '{print > (\"n\" $2 % 3)}' $MADE/lines; head -c 1000 $MADE/lines | tee b c > d; tac b > e; "
        "shuf --random-source=$MADE/random -n 50 $MADE/lines -o f; "
        "printf 'a\\n' > g; printf 'b\\n' > h; diff -u --label g --label h g h > p || true; gzip -nk a; "
        "gunzip -c a.gz | cmp - a; mktemp -p . -u x.XXXXXX | wc -c; uniq -w1 -c b i; comm -12 <(sort b) <(sort c); "
        "paste b c | cksum; tail -c 10 $MADE/lines",
        unseen=("a.bak",)),
    Row("names_of_files", "mv a b; mv b d/; ln -s d/b c; ln d/b e; cp -P c f; touch -d @0 g; mkfifo p; "
        "(echo through > p) & cat p > h; wait; rm -r d; mv -n h e; mv -T --backup=t h e; chmod 4711 g; rm -f nothing",
        setup="echo text > a; mkdir d", unseen=("e", "e.~1~")),
    Row("find_exec", "cp -r $MADE/tree t; find t -type f -name 'file*' -exec sh -c 'wc -c < $1 > $1.size' _ {} \\;; "
        "find t -name '*.size' -exec cat {} + | sort; find t -name '*1*' -delete; find t -newer nothing || echo $?"),
    Row("xargs_parallel", "seq 40 | xargs -P 4 -I {} sh -c 'seq {} > n.{}; cp n.{} m.{}'; cat m.* | cksum; "
        "seq 5 | xargs -n 2 echo; echo x | xargs false || echo $?"),
]

SHELL = [
    Row("bash_redirections", "exec 3>a 4>>b 5<>c; echo three >&3; echo four >&4; echo five >&5; exec 3>&- 5<&-; "
        "cat <<< here > d; cat << END > e\ntext\nEND\n{ echo out; echo err >&2; } &> f; (echo sub; exit 3) > g || echo $?; "
        "echo x >| h; set -C; echo y > h || echo kept; coproc cat; echo through >&${COPROC[1]}; read -r line <&${COPROC[0]}; "
        "echo $line; diff <(echo 1) <(echo 2) || true; echo done >&4"),
    Row("dash", "sh -c 'exec 3>a; echo three >&3; (echo sub >&3); x=$(echo text | tee b); echo $x; trap \"echo bye > c\" EXIT; "
        "exit 4' || echo $?; printf '%s\\n' 1 2 3 | sh -c 'while read -r n; do echo $n > r.$n; done'"),
    Row("bash_300_commands", "for i in {1..150}; do /bin/true; /bin/echo $i >> log; done; wc -l log", written={"log": 492}),
    Row("bash_2000_commands", "for i in {1..1000}; do /bin/true; /bin/echo $i >> log; done; wc -l log", written={"log": 3893},
        long=True, timeout=120),
    Row("background_jobs", "for i in 1 2 3 4 5; do (sleep 0.0$i; echo $i > j.$i) & done; wait; timeout 0.2 sleep 5 || echo $?; "
        "nohup echo quiet > n 2> /dev/null; setsid sh -c 'echo apart > s'; kill -0 $$; (kill -9 $BASHPID) || echo $?",
        scrub=(r"bash: line \d+: +\d+ ",)),
    Row("env_cleared", "env -i /bin/cp $MADE/random a; "
        "env -i /bin/sh -c 'env | grep -vE \"^(PWD|SHLVL|OLDPWD|_|LD_PRELOAD|IEZ_[A-Z_]*)=\" | sort; /bin/cp a b'; "
        "env -u LD_PRELOAD cp a c; LD_PRELOAD= cp a d", written={"a": RANDOM}),
    Row("standard_closed", "$BIN/limits without_standard a b c <&- >&- 2>&-; cp a d <&-; cat a >&- || echo $?; "
        "cp a e >&- 2>&-; dd if=a of=f status=none <&- >&- 2>&-; $PYTHON -c 'open(\"g\", \"w\").write(\"text\")' <&- >&- 2>&-",
        written={"a": 11, "b": 11, "c": 11, "d": 11, "e": 11, "f": 11}, scrub=(r"cat: .*",)),
    Row("limit_of_stack", "ulimit -s 128; cp $MADE/lines a; sh -c 'echo text > b'; $BIN/limits temporary c d; "
        "$BIN/children vfork e f; $BIN/handlers small_stack g", unseen=("dangling",)),
    Row("limit_of_descriptors", "ulimit -n 10; cp $MADE/lines a; sh -c 'echo text > b; exec 9> c'; $BIN/limits temporary d e; "
        "sort -S 100k -T . $MADE/lines -o f", unseen=("dangling",)),
    Row("limit_of_memory", "$BIN/limits address_space a; ulimit -v 60000; cp $MADE/lines b; sort -S 1M -T . b > c; "
        "dd if=/dev/zero of=d bs=1M count=2 status=none", unseen=("a",), written={"d": 2 * MIB}),
    Row("limit_of_file_size", "$BIN/limits file_size a || echo $?; (ulimit -f 8; cp $MADE/random b; echo no) || echo $?; "
        "(ulimit -f 8; trap '' XFSZ; dd if=/dev/zero of=c bs=1k count=20 status=none) || echo $?",
        unseen=("a", "b", "c"), scrub=(r"bash: line \d+: +\d+ ",)),
]

LANGUAGES = [
    Row("python_temporary", "$PYTHON $HABITS temporary", written={"copy": 65536}),
    Row("python_fork", "$PYTHON $HABITS processes fork", written={f"part.{i}": 65536 * (i + 1) for i in range(6)}),
    Row("python_spawn", "$PYTHON $HABITS processes spawn", written={f"part.{i}": 65536 * (i + 1) for i in range(6)}),
    Row("python_forkserver", "$PYTHON $HABITS processes forkserver", written={f"part.{i}": 65536 * (i + 1) for i in range(6)}),
    Row("python_mmap", "$PYTHON $HABITS mapped", written={"mapped": 0}),
    Row("python_kernel_copies", "$PYTHON $HABITS kernel_copies", written={"source": 262144, "sent": 65536, "ranged": 131072,
        "spliced": 4096, "vectors": 2048}),
    Row("python_threads", "$PYTHON $HABITS threads", written={f"thread.{i}": 20 * 65536 for i in range(24)} | {"log": 216}),
    Row("python_children", "$PYTHON $HABITS children", written={"log": 20, "forked": 12}),
    Row("python_names", "$PYTHON $HABITS names", unseen=("line*", "*latin*"), written={"up": 10, "n" * 255: 255}),
    Row("python_removed_folder", "$PYTHON $HABITS removed", unseen=("found",)),
    Row("perl", "perl -e 'open(F, \">\", \"a\"); print F \"text\\n\" x 1000; close F; open(F, \"+<\", \"a\"); seek(F, 5, 0); "
        "syswrite(F, \"TEXT\"); close F; rename(\"a\", \"b\"); "
        "if (!fork) { open(G, \">>\", \"b\"); print G \"child\\n\"; exit 3 } wait; print $? >> 8, \"\\n\"; "
        "open(P, \"|-\", \"cat > c\"); print P \"pipe\\n\"; close P; print `cat c`; "
        "exec(\"sh\", \"-c\", \"exit 5\")' || echo $?; perl -i.bak -pe 's/text/word/' b",
        needs=("perl",), unseen=("b.bak", "b")),
    Row("gcc", "g++ -std=c++23 -I$SOURCE/src -save-temps -c $SOURCE/src/base/text.cpp; "
        "gcc -O1 -pipe $SOURCE/tests/preload/table/limits.c -o l; ar rcsD libtext.a text.o; ranlib -D libtext.a; "
        "size text.o; ./l temporary a b",
        unseen=("libtext.a", "dangling"), timeout=120),
    Row("gcc_module", "for s in $SOURCE/src/base/*.cpp; do case $s in *_test.cpp) ;; *) echo $s; esac; "
        "done | xargs -P 2 -I {} sh -c 'g++ -std=c++23 -I$SOURCE/src -c {} -o $(basename {}).o'; ar rcsD libbase.a *.o; ls",
        unseen=("libbase.a",), long=True, timeout=300),
    Row("make", "printf 'all: a b c\\n%%: %%.in\\n\\tcp $< $@; sleep 0.01\\n' > Makefile; touch a.in b.in c.in; make -s -j 3; "
        "make -q; rm b; make", scrub=(r"make\[.*",)),
]

SQL = """
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {0}) INSERT INTO t SELECT i, printf('%0100d', i) FROM n;
CREATE INDEX x ON t(b);
UPDATE t SET b = b || 'x' WHERE a % 3 = 0;
DELETE FROM t WHERE a % 5 = 0;
BEGIN; DELETE FROM t; ROLLBACK;
VACUUM;
SELECT count(*), sum(length(b)) FROM t;
PRAGMA integrity_check;
"""


def sqlite(name, journal, rows, **options):
    command = f"""
sqlite3 db "PRAGMA journal_mode={journal}; {SQL.format(rows)}"
sqlite3 db 'INSERT INTO t VALUES (-1, 2)' '.backup copy' '.dump' | cksum
sqlite3 copy 'SELECT count(*) FROM t'
"""
    return Row(name, command, needs=("sqlite3",), **options)


GIT = """
git clone -q {0} clone
cd clone
git branch base
git checkout -q -b side
/bin/echo more >> {1}
git commit -qam more
git merge -q base
git gc -q --prune=now
git fsck --strict
git log --oneline | wc -l
git diff --stat HEAD~1
git worktree add -q ../tree
cd ..
git clone -q --bare --no-local clone bare
git -C bare repack -adq
"""
GIT_LOOSE = ("*.git/index", "*/index", "*/logs/*", "*.idx", "*.pack", "*.rev", "*.bitmap", "*/ORIG_HEAD", "*/objects/info/*")
GIT_DATES = {"GIT_AUTHOR_DATE": "@1700000001 +0000", "GIT_COMMITTER_DATE": "@1700000001 +0000"}

APPLICATIONS = [
    sqlite("sqlite_rollback", "DELETE", 1500),
    sqlite("sqlite_wal", "WAL", 1500),
    sqlite("sqlite_wal_long", "WAL", 200000, long=True, timeout=200),
    sqlite("sqlite_truncate_long", "TRUNCATE", 200000, long=True, timeout=200),
    Row("sqlite_killed", "sqlite3 db 'PRAGMA journal_mode=WAL; CREATE TABLE t(a); INSERT INTO t VALUES (1)'; "
        "sqlite3 db 'BEGIN; INSERT INTO t VALUES (2)' '.shell kill -9 $PPID' || echo $?; "
        "sqlite3 db 'SELECT * FROM t; PRAGMA integrity_check'",
        needs=("sqlite3",), scrub=(r"bash: line \d+: +\d+ ",)),
    Row("git", GIT.format("$MADE/repository", "file1"), loose=GIT_LOOSE, unseen=("*/objects/*", "*/refs/*"), variables=GIT_DATES,
        needs=("git",)),
    Row("git_long", GIT.format("$MADE/project.git", "README.md") + "git -C clone rev-parse HEAD | wc -c",
        loose=(*GIT_LOOSE, "*"), unseen=("*/objects/*", "*/refs/*"), variables=GIT_DATES,
        needs=("git", "project.git"), long=True, timeout=300),
]


def fio(engine, options="", name=None, written=None, needs=(), **more):
    """Verifies what it wrote; its data holds random numbers of its own."""
    command = f"""
fio --name=job --ioengine={engine} --filename=data --rw=randwrite --bs=4k --size=2M --randseed=7 --output=log \
    --verify=crc32c --verify_fatal=1 --verify_state_save=0 {options}
rm log
stat -c %s data
"""
    return Row(f"fio_{name or engine}", command, written={} if written is None else {"data": written}, loose=("data",),
               needs=("fio", *needs), timeout=120, **more)


FIO = [
    fio("psync", written=2 * MIB),
    fio("psync", "--direct=1 --thread", "psync_direct", written=2 * MIB, needs=("direct",)),
    fio("sync", "--fsync=32", written=2 * MIB),
    fio("vsync", written=2 * MIB),
    fio("pvsync2", written=2 * MIB),
    fio("posixaio", "--iodepth=4", written=2 * MIB),
    fio("libaio", "--iodepth=16"),
    fio("libaio", "--iodepth=16 --direct=1", "libaio_direct", needs=("direct",)),
    fio("io_uring", "--iodepth=16", needs=("io_uring",)),
    fio("io_uring", "--iodepth=8 --fixedbufs --registerfiles --thread", "io_uring_registered", needs=("io_uring",)),
    fio("mmap"),
    fio("psync", "--numjobs=4 --offset_increment=2M --io_size=2M --group_reporting", "psync_shared", long=True),
    fio("psync", "--size=256M --bs=1M --rw=write", "psync_long", written=256 * MIB, long=True),
    fio("io_uring", "--size=256M --bs=64k --iodepth=32", "io_uring_long", needs=("io_uring",), long=True),
    fio("mmap", "--size=128M", "mmap_long", long=True),
    fio("libaio", "--size=128M --iodepth=32 --bs=64k", "libaio_long", long=True),
]

HDF5 = """
$BIN/make_hdf5 a.h5
h5repack -f GZIP=4 a.h5 b.h5
h5repack -l CONTI b.h5 c.h5
h5copy -i a.h5 -o d.h5 -s /step -d /copy
h5diff a.h5 b.h5
h5diff a.h5 c.h5
h5dump d.h5 | cksum
h5ls -r b.h5
h5stat -S c.h5 | grep -v bytes
h5repart -m 100k a.h5 part%d.h5
$BIN/make_hdf5 a.h5 2> /dev/null || echo there
"""
OPENMPI = "mpirun.openmpi --allow-run-as-root --oversubscribe --mca btl self,vader --mca btl_vader_single_copy_mechanism none"
MPICH = "mpirun.mpich"


def mpi(flavour, run, name, ranks=2, blocks=4, size=65536, **options):
    return Row(f"mpi_{flavour}_{name}", f"{run} -n {ranks} $BIN/mpi_io_{flavour} $PWD/shared {blocks} {size}",
               written={"shared": ranks * blocks * size}, libraries=("iez", f"mpi_{flavour}"),
               needs=(f"mpi_io_{flavour}", f"mpirun.{flavour}"), **options)


SCIENCE = [
    Row("hdf5", HDF5, needs=("make_hdf5",), loose=("[bcd].h5",)),  # hold times; h5diff compares them
    mpi("openmpi", OPENMPI, "ompio"),
    mpi("openmpi", OPENMPI + " --mca io romio321", "romio", long=True),
    mpi("openmpi", OPENMPI, "large", 4, 64, MIB, long=True, timeout=200),
    mpi("mpich", MPICH, "romio"),
    mpi("mpich", MPICH, "large", 4, 64, MIB, long=True, timeout=200),
]

HABITS = [
    Row("cancel_in_write", "$BIN/handlers cancel a b c", loose=("a",), written={"c": 18}),
    Row("segv_handler", "$BIN/handlers segv a", written={"a": 6}),
    Row("write_in_handler", "$BIN/handlers handler a b c", written={"a": 4000 * 4096}),
    Row("leaving_a_handler", "$BIN/handlers leaving a b", written={"b": 5}),
    Row("small_stacks", "$BIN/handlers small_stack a", written={"a": 12}),
    Row("crash_handler", "$BIN/handlers crash", status=11, written={"crash.log": 8}),
    Row("vfork_and_exec", "$BIN/children vfork a b", written={"a": 288, "b": 260}),
    Row("posix_spawn", "$BIN/children spawn a", written={"a": 8}),
    Row("popen_and_system", "$BIN/children shells a b", written={"a": 5, "b": 21}),
    Row("fork_and_ends", "$BIN/children forks a", written={"a": 80}),
    Row("clones", "$BIN/children clones a", written={"a": 240}),
    Row("daemon", "$BIN/children daemon a", written={"a": 14}),
    Row("title", "$BIN/children title a", written={"a": 20}),
    Row("failed_exec", "$BIN/children failed_exec a b", written={"a": 11, "b": 11}),
    Row("inherited_descriptors", "exec 7> a; $BIN/children inherited"),
    Row("own_environment", "$BIN/children environment"),
    Row("close_all", "$BIN/limits close_all a b c d 7> e", written={"a": 12, "b": 18, "c": 16, "d": 23}),
    Row("every_descriptor", "ulimit -n 1000; $BIN/limits every_number a b; ulimit -n 20; $BIN/limits every_number c d", written={"a": 16,
        "c": 16}),
    Row("chosen_descriptors", "$BIN/limits chosen_numbers a", written={"a": 1021}),
    Row("other_root", "$BIN/limits other_root /a /b", needs=("root",), unseen=("root/*",)),
    Row("own_maps", "$BIN/limits maps a; cat /proc/self/maps | grep -c 'cat$'; ldd $BIN/limits | grep -c libc.so",
        written={"a": 16}, scrub=(r"^\d+\n",)),
    Row("strict_rules", "$BIN/limits strict a", written={"a": 26}),
    Row("threads", "$BIN/limits threads",
        written={"shared": 3276800} | {f"t{i}.{j}": 32768 for i in range(8) for j in range(50)}),
    Row("streams", "$BIN/limits streams a b c d", written={"a": 810, "b": 9, "c": 14, "d": 32}),
    Row("temporary_names", "$BIN/limits temporary a b", written={"a": 6, "b": 15, "dangling": 10}),
    Row("static", "$BIN/static_children forks a; $BIN/static_children vfork b c", unseen=("a", "b")),
    Row("setuid", "cp $BIN/limits own; chmod 4755 own; setpriv --reuid 65534 --clear-groups ./own temporary a b", needs=("root",
        "suid", "setpriv"), setup="chmod 777 .",
        unseen=("a", "b", "dangling", "masked", "read-only")),
    Row("other_library_first", "cp $MADE/lines a; $BIN/limits threads; $BIN/children spawn b; sh -c 'echo text > c'",
        libraries=("other", "iez"), without=("other",)),
    Row("other_library_last", "cp $MADE/lines a; $BIN/limits threads; $BIN/children spawn b; sh -c 'echo text > c'",
        libraries=("iez", "other"), without=("other",)),
]

ROWS = [*COREUTILS, *SHELL, *LANGUAGES, *APPLICATIONS, *FIO, *SCIENCE, *HABITS]
