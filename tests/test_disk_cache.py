"""Kernels on disk: what was stored comes back, in other processes too; nothing else ever does, and no failure is the program's."""

from __future__ import annotations

import os
import posix
import stat
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import bcjit
from bcjit import logs
from bcjit.config import FIELDS, Config, config
from bcjit.disk_cache import command, keys, own_files, sealing, store
from bcjit.disk_cache.keys import cache_key, source_digest
from bcjit.disk_cache.store import DiskCache
from bcjit.errors import ArgumentError

ROOT = Path(__file__).parents[1]
# None of these keys has the folder looked through when it is stored.
KEY = "c0ffee".ljust(64, "0")
OTHER = "decade".ljust(64, "0")
DATA = bytes(range(256)) * 3


@pytest.fixture
def cache(tmp_path):
    return DiskCache(str(tmp_path / "cache"))


@pytest.fixture
def told(caplog):
    """What the channel says: unasked, then everything."""
    caplog.set_level("DEBUG", "bcjit.cache")

    def texts(level="INFO"):
        return [
            r.getMessage()
            for r in caplog.records
            if r.name == "bcjit.cache" and r.levelno >= getattr(logs, level)
        ]

    logs.forget_once()
    yield texts
    logs.forget_once()


@pytest.fixture(autouse=True)
def _no_descriptor_is_left():
    before = listed("/proc/self/fd")
    yield
    assert listed("/proc/self/fd") == before


def numbered(n):
    return f"{n:02x}".rjust(64, "f")


def file_of(cache, key=KEY):
    return Path(cache.folder) / f"{key}.kernel"


def listed(folder):
    return sorted(path.name for path in Path(folder).iterdir())


def names(cache):
    return listed(cache.folder)


def python(program, *words, **more):
    environ = {k: v for k, v in os.environ.items() if not k.startswith("BCJIT")}
    for name, value in more.items():
        environ.pop(name, None)
        if value is not None:
            environ[name] = str(value)
    words = [sys.executable, *(("-c", textwrap.dedent(program)) if program else ()), *words]
    done = subprocess.run(
        [str(word) for word in words],
        env=environ | {"PYTHONPATH": str(ROOT)},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


# What comes back


def test_what_is_stored_comes_back_byte_by_byte(cache, told):
    assert cache.load(KEY) is None
    for data in (DATA, b"", b"another"):
        cache.store(KEY, data)
        assert cache.load(KEY) == data
        assert type(cache.load(KEY)) is bytes
    assert cache.load(OTHER) is None
    assert names(cache) == ["bcjit.secret", f"{KEY}.kernel"]
    assert told() == []
    assert told("DEBUG")[:2] == [f"{KEY} stored, 768 bytes", f"{KEY} loaded, 768 bytes"]


def test_folder_and_files_are_for_this_user_alone_whatever_the_umask(tmp_path):
    cache = DiskCache(str(tmp_path / "a" / "b" / "cache"))
    before = os.umask(0)
    try:
        cache.store(KEY, DATA)
    finally:
        os.umask(before)
    folder = Path(cache.folder)
    modes = [stat.S_IMODE(p.stat().st_mode) for p in (folder.parent.parent, folder.parent, folder)]
    assert modes == [0o700] * 3
    assert {stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir()} == {0o600}


def test_an_import_reads_nothing_of_it_and_lazy_reads_all():
    code, out, err = python(
        """
        import sys, bcjit
        before = {*sys.modules}
        print([name for name in before if "disk_cache" in name])
        from bcjit import lazy
        load = [lazy.load(f"bcjit.disk_cache.{name}") for name in ("store", "keys", "command")]
        print(load[0].DiskCache.__name__)
        print(*{name.partition(".")[0] for name in {*sys.modules} - before})
        """
    )
    assert (code, err) == (0, "")
    assert out.startswith("[]\nDiskCache\n")
    assert {*out.split()[2:]} <= {"_blake2", "bcjit", "errno"}


@pytest.mark.parametrize("key", ["", "../x", KEY[:-1], KEY.upper(), KEY + "\n", f"/{KEY}"])
def test_what_is_no_key_never_names_a_file(cache, key):
    for call in (lambda: cache.load(key), lambda: cache.store(key, DATA)):
        with pytest.raises(ValueError, match="a key is what cache_key"):
            call()
    assert not Path(cache.folder).exists()


# Keys

MADE = cache_key("out = x + 1", llvm="22")


def test_a_key_is_of_everything_it_is_given(monkeypatch):
    made = {
        MADE,
        cache_key("out = x + 1"),
        cache_key("out = x + 2", llvm="22"),
        cache_key("out = x + 1", llvm="2", target="2"),
        cache_key("out = x + 1", llvm="22", target=""),
        cache_key("out = x + 1llvm", **{"": "22"}),
        cache_key("out = x + 1", llv="m22"),
    }
    monkeypatch.setattr(bcjit, "__version__", "0")
    made.add(cache_key("out = x + 1", llvm="22"))
    assert len(made) == 8
    assert all(len(key) == 64 for key in made)
    assert cache_key("x", a="1", b="2") == cache_key("x", b="2", a="1")
    assert len(cache_key("\ud800")) == 64


def test_a_key_is_of_its_surroundings_and_the_same_in_another_process(monkeypatch):
    program = """
        from bcjit.disk_cache.keys import cache_key
        print(cache_key("out = x + 1", llvm="22"))
    """
    assert python(program, PYTHONHASHSEED="1") == (0, MADE + "\n", "")
    here = keys._SURROUNDINGS
    assert np.__version__ in here
    for place in range(len(here)):
        monkeypatch.setattr(keys, "_SURROUNDINGS", (*here[:place], "else", *here[place + 1 :]))
        assert cache_key("out = x + 1", llvm="22") != MADE


def test_a_digest_of_source_changes_with_names_and_contents(tmp_path):
    package = tmp_path / "package"
    (package / "sub").mkdir(parents=True)
    seen = set()

    def changed(name, text):
        (package / name).write_text(text)
        digest = source_digest(str(package))
        fresh = digest not in seen
        seen.add(digest)
        return fresh

    assert changed("a.py", "x")
    assert changed("a.py", "y")
    assert changed("b.py", "y")
    assert changed("sub/c.py", "y")
    assert not changed("notes.txt", "z")
    assert not changed("sub/notes", "z")
    (package / "a.py").rename(package / "aa.py")
    assert changed("b.py", "y")
    one = source_digest(str(package / "b.py"))
    assert one not in seen
    assert source_digest(str(package / "b.py"), str(package)) not in {one, None, *seen}
    assert source_digest(str(package), str(tmp_path / "none")) is None


# Damage


def test_no_changed_byte_is_ever_loaded(cache):
    """The header, the code and the data, each part of them."""
    cache.store(KEY, DATA)
    file = file_of(cache)
    good = file.read_bytes()
    for place in [*range(sealing.OVERHEAD + 2), len(good) // 2, len(good) - 1]:
        for bit in (1, 128):
            file.write_bytes(good[:place] + bytes([good[place] ^ bit]) + good[place + 1 :])
            assert cache.load(KEY) is None, place
    file.write_bytes(good)
    assert cache.load(KEY) == DATA


CHANGES = {
    "empty": (lambda text: b"", "it is cut off"),
    "header only": (lambda text: text[: sealing.OVERHEAD - 1], "it is cut off"),
    "no data": (lambda text: text[: sealing.OVERHEAD], "it has 0 bytes of data, not 768"),
    "cut": (lambda text: text[:-1], "it has 767 bytes of data, not 768"),
    "longer": (lambda text: text + b"\0", "it has 769 bytes of data, not 768"),
    "zeros": (lambda text: bytes(len(text)), "it does not begin as files of the cache do"),
    "as text": (lambda text: text.replace(b"\r\n", b"\n", 1), "it does not begin"),
    "format": (lambda text: text[:8] + b"\2" + text[9:], "it has format 2, not 1"),
    "data": (lambda text: text[:-1] + b"x", "it is damaged, or was not written by this user"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_damaged_file_is_ignored_with_a_reason_and_replaced(cache, told, name):
    change, why = CHANGES[name]
    cache.store(KEY, DATA)
    file = file_of(cache)
    file.write_bytes(change(file.read_bytes()))
    for _ in range(2):
        assert cache.load(KEY) is None
    (message,) = told()
    assert message.startswith(f"disk cache: {file} is ignored: {why}")
    assert told("WARNING") == []
    cache.store(KEY, DATA)
    assert cache.load(KEY) == DATA


def test_a_file_under_another_name_is_ignored(cache, told):
    cache.store(KEY, DATA)
    other = OTHER
    file_of(cache).rename(file_of(cache, other))
    assert cache.load(other) is None
    assert told()[0].endswith("is ignored: it was written under another name")
    text = file_of(cache, other).read_bytes()  # and where it says so itself
    file_of(cache, other).write_bytes(text.replace(bytes.fromhex(KEY), bytes.fromhex(other)))
    assert cache.load(other) is None
    assert "it is damaged, or was not written by this user" in told()[1]


def test_a_file_of_another_secret_or_user_is_ignored(cache, tmp_path, told, monkeypatch):
    """Copied from somebody else's cache and given to this user, say."""
    other = DiskCache(str(tmp_path / "other"))
    other.store(KEY, DATA)
    cache.store(OTHER, DATA)
    file_of(cache).write_bytes(file_of(other).read_bytes())
    file_of(cache).chmod(0o600)
    assert cache.load(KEY) is None
    assert "not written by this user with this secret" in told()[0]
    assert other.load(KEY) == DATA
    mine = sealing.seal(KEY, DATA, bytes(32))
    monkeypatch.setattr(posix, "geteuid", lambda: 12345)
    assert sealing.seal(KEY, DATA, bytes(32)) != mine


def test_a_file_that_is_larger_than_the_cache_is_not_read(cache, told):
    cache.store(KEY, DATA)
    os.truncate(file_of(cache), 1 << 40)
    assert cache.load(KEY) is None
    assert told()[0].endswith("it is larger than all may be")


# Who else may have written it


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_is_ignored_and_said_unasked_once(cache, told, mode):
    cache.store(KEY, DATA)
    file_of(cache).chmod(mode)
    for _ in range(2):
        assert cache.load(KEY) is None
    (message,) = told("WARNING")
    assert message.startswith(f"disk cache: {file_of(cache)} is ignored: others may write it (-rw-")
    cache.store(KEY, DATA)
    assert cache.load(KEY) == DATA
    file_of(cache).chmod(0o644)
    assert cache.load(KEY) == DATA


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_folder_that_others_may_write_is_not_used(cache, told, mode):
    cache.store(KEY, DATA)
    Path(cache.folder).chmod(mode)
    before = names(cache)
    assert cache.load(KEY) is None
    cache.store(OTHER, DATA)
    assert names(cache) == before
    (message,) = told("WARNING")
    assert message.startswith(f"disk cache: {cache.folder} is ignored: others may write it (drwx")


def test_a_folder_of_another_user_is_not_used(cache, told, monkeypatch):
    cache.store(KEY, DATA)
    before = names(cache)
    uid = os.geteuid()
    monkeypatch.setattr(posix, "geteuid", lambda: uid + 1)
    assert cache.load(KEY) is None
    cache.store(OTHER, DATA)
    assert names(cache) == before
    assert told("WARNING") == [f"disk cache: {cache.folder} is ignored: it belongs to user {uid}"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("name", ["kernel", "secret"])
def test_a_file_of_another_user_is_ignored(cache, told, name):
    cache.store(KEY, DATA)
    file = file_of(cache) if name == "kernel" else Path(cache.folder) / "bcjit.secret"
    os.chown(file, 12345, -1)
    assert cache.load(KEY) is None
    assert told("WARNING") == [f"disk cache: {file} is ignored: it belongs to user 12345"]


def test_a_symbolic_link_is_not_followed(cache, tmp_path, told):
    cache.store(KEY, DATA)
    moved = tmp_path / "moved"
    file_of(cache).rename(moved)
    file_of(cache).symlink_to(moved)
    assert cache.load(KEY) is None
    assert told("WARNING") == [f"disk cache: {file_of(cache)} is ignored: it is a symbolic link"]
    cache.store(KEY, b"new")  # replaces the link, not what it leads to
    assert cache.load(KEY) == b"new"
    assert moved.read_bytes().endswith(DATA)

    link = tmp_path / "link"
    link.symlink_to(cache.folder)
    linked = DiskCache(str(link))
    assert linked.load(KEY) is None
    linked.store(OTHER, DATA)
    assert len(names(cache)) == 2
    assert told("WARNING")[1:] == [f"disk cache: {link} is ignored: it is no folder itself"]


def test_what_is_no_regular_file_is_ignored_without_waiting(cache, told):
    cache.store(KEY, DATA)
    file_of(cache).unlink()
    os.mkfifo(file_of(cache), 0o600)
    assert cache.load(KEY) is None
    file_of(cache).unlink()
    file_of(cache).mkdir()
    assert cache.load(KEY) is None
    cache.store(KEY, DATA)  # cannot take the folder's place
    assert names(cache) == ["bcjit.secret", f"{KEY}.kernel"]
    assert "it is no regular file" in told("WARNING")[0]
    assert "nothing can be stored" in told()[-1]


# The secret


def test_a_secret_that_others_may_read_turns_the_cache_off(cache, told):
    cache.store(KEY, DATA)
    (Path(cache.folder) / "bcjit.secret").chmod(0o640)
    assert cache.load(KEY) is None
    cache.store(KEY, b"new")
    (Path(cache.folder) / "bcjit.secret").chmod(0o600)
    assert cache.load(KEY) == DATA
    assert told("WARNING") == [
        f"disk cache: {cache.folder}/bcjit.secret is ignored: others may read it (-rw-r-----)"
    ]


@pytest.mark.parametrize("text", [b"", b"bcjit secret 1\r\n" + bytes(48), bytes(64), b"x" * 99])
def test_a_damaged_secret_is_replaced_by_the_next_store(cache, told, text):
    cache.store(KEY, DATA)
    secret = Path(cache.folder) / "bcjit.secret"
    good = secret.read_bytes()
    secret.write_bytes(text)
    assert cache.load(KEY) is None
    assert told()[0].endswith("bcjit.secret is ignored: it is damaged")
    cache.store(KEY, DATA)
    assert cache.load(KEY) == DATA
    assert secret.read_bytes() not in {good, text}


def test_a_kernel_without_the_secret_is_ignored(cache):
    cache.store(KEY, DATA)
    (Path(cache.folder) / "bcjit.secret").unlink()
    assert cache.load(KEY) is None
    assert "there is no bcjit.secret" in cache.survey().ignored[0][1]


def test_of_two_secrets_made_at_once_one_counts_also_without_hard_links(cache, monkeypatch):
    cache.store(KEY, DATA)
    folder = os.open(cache.folder, os.O_RDONLY)
    try:
        own_files.write_first(folder, "bcjit.secret", b"second")
        assert cache.load(KEY) == DATA
        own_files.write_first(folder, "new", b"first")
        # A path that cannot be linked: what a file system says that has no hard links.
        monkeypatch.setattr(posix, "link", lambda *_, **__: posix.rmdir("/proc/self/fd/no/such"))
        monkeypatch.setattr(own_files, "is_ours", lambda error: True)
        own_files.write_first(folder, "other", b"first")
    finally:
        os.close(folder)
    assert names(cache) == ["bcjit.secret", f"{KEY}.kernel", "new", "other"]
    assert {(Path(cache.folder) / name).read_bytes() for name in ("new", "other")} == {b"first"}


# Several at once

WORKER = """
    import sys
    import bcjit
    from bcjit.disk_cache.keys import cache_key
    from bcjit.disk_cache.store import DiskCache
    cache = DiskCache(sys.argv[1], int(sys.argv[2]))
    kernels = {cache_key(str(n)): bytes([n]) * 1000 * (n + 1) for n in range(8)}
    print("ready", flush=True)
    sys.stdin.readline()
    hits = 0
    for turn in range(25):
        for key, data in kernels.items():
            found = cache.load(key)
            assert found in (None, data)
            if found is None or turn % 5 == 0:
                cache.store(key, data)
                # One that is alone a while has evicted each when it comes to it again, but not yet.
                found = cache.load(key)
                assert found in (None, data)
            hits += found is not None
    print(hits > 0)
"""


def test_processes_that_use_one_folder_at_once_read_whole_files_only(tmp_path):
    """They make it at once, with one secret, and evict what the others load."""
    limit = 25_000
    words = [sys.executable, "-c", textwrap.dedent(WORKER), str(tmp_path / "cache"), str(limit)]
    workers = [
        subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        for _ in range(3)
    ]
    assert [worker.stdout.readline() for worker in workers] == ["ready\n"] * 3
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    done = [(*worker.communicate(timeout=60), worker.returncode) for worker in workers]
    assert done == [("True\n", "", 0)] * 3
    cache = DiskCache(str(tmp_path / "cache"), limit)
    assert cache.survey().ignored == ()
    assert cache.survey().size <= limit * 2


# pytest-xdist has threads of its own.
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_threads_and_forks_use_one_cache(cache):
    wrong = []

    def work():
        for n in range(20):
            key, data = numbered(n % 5), bytes([n % 5]) * 3000
            cache.store(key, data)
            if cache.load(key) != data:
                wrong.append(n)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    child = os.fork()
    if child == 0:
        try:
            cache.store(KEY, DATA)
        finally:
            os._exit(cache.load(KEY) != DATA)
    assert os.waitpid(child, 0)[1] == 0
    assert cache.load(KEY) == DATA


# The bound


def test_the_least_recently_used_go_first_and_a_load_counts_as_use(tmp_path, told):
    cache = DiskCache(str(tmp_path), 100_000)
    keys = [numbered(n) for n in range(12)]
    for n, key in enumerate(keys[:9]):
        cache.store(key, bytes(9_900))
        old = time.time() - 86400 * (20 - n)
        os.utime(file_of(cache, key), (old, old))
    assert cache.load(keys[0]) is not None
    for key in keys[9:]:
        cache.store(key, bytes(9_900))
    cache.store(KEY, bytes(9_900))
    kept = {key for key in [*keys, KEY] if file_of(cache, key).exists()}
    assert {keys[0], *keys[9:], KEY} <= kept
    assert not kept & {*keys[1:5]}
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 100_000
    assert "5 kernels evicted, 69888 bytes are left" in told("DEBUG")  # three quarters of it


def test_a_load_touches_a_file_once_a_day(cache):
    cache.store(KEY, DATA)
    for age, is_touched in ((3600, False), (2 * 86400, True), (-9 * 86400, True)):
        at = time.time() - age
        os.utime(file_of(cache), (at, at))
        before = file_of(cache).stat().st_mtime
        assert cache.load(KEY) == DATA
        assert (file_of(cache).stat().st_mtime != before) is is_touched
    store._touch(-1)  # what cannot be touched is loaded


def test_what_killed_processes_left_is_removed_after_an_hour(cache):
    cache.store(KEY, DATA)
    old, new, foreign = (
        Path(cache.folder) / name
        for name in (f"{KEY}.kernel.{1:016x}.tmp", f"bcjit.secret.{2:016x}.tmp", "mine.tmp")
    )
    for file in (old, new, foreign):
        file.write_bytes(b"x")
    for file in (old, foreign):
        os.utime(file, (1, 1))
    swept = "03".ljust(64, "0")
    cache.store(swept, DATA)  # one key in 64 has the folder looked through
    assert names(cache) == sorted(
        [f"{KEY}.kernel", f"{swept}.kernel", new.name, "bcjit.secret", "mine.tmp"]
    )


def test_what_alone_is_more_than_the_bound_is_not_stored(tmp_path):
    cache = DiskCache(str(tmp_path), 1000)
    cache.store(KEY, bytes(1000))
    assert names(cache) == []


# Where there is no cache


def test_settings_say_where_and_how_much(tmp_path, monkeypatch):
    assert FIELDS["disk_cache"].env == "BCJIT_CACHE"
    settings = Config({"BCJIT_CACHE": "0", "BCJIT_CACHE_DIR": "/x", "BCJIT_CACHE_SIZE": " 7 "})
    assert (settings.disk_cache, settings.disk_cache_folder, settings.disk_cache_size) == (
        False, "/x", 7,
    )  # fmt: skip
    assert Config({"BCJIT_CACHE_SIZE": ""}).disk_cache_size == 256
    for text, why in (("-1", "must be a whole number"), ("0", "must be at least 1")):
        with pytest.raises(ArgumentError, match=why):
            Config({"BCJIT_CACHE_SIZE": text})
    monkeypatch.chdir(tmp_path)
    cache = DiskCache()
    with config.override(disk_cache_folder="here", disk_cache_size=3):
        assert (cache.folder, cache.limit) == (str(tmp_path / "here"), 3 << 20)
        cache.store(KEY, DATA)
        monkeypatch.chdir("/")
        assert cache.load(KEY) == DATA
        with config.override(disk_cache=False):
            assert cache.load(KEY) is None
            cache.store(OTHER, DATA)
        assert len(names(cache)) == 2


@pytest.mark.parametrize(
    ("found", "folder"),
    [
        ({"HOME": "/h", "XDG_CACHE_HOME": "/c/"}, "/c/bcjit"),
        ({"HOME": "/h", "XDG_CACHE_HOME": "relative"}, "/h/.cache/bcjit"),
        ({"HOME": "/h", "XDG_CACHE_HOME": ""}, "/h/.cache/bcjit"),
    ],
)
def test_the_folder_is_where_caches_are(monkeypatch, found, folder):
    monkeypatch.setattr(store, "CACHE_HOME", found)
    with config.override(disk_cache_folder=""):
        assert DiskCache().folder == folder


USES = """
    import sys
    import bcjit
    from bcjit.disk_cache.keys import cache_key
    from bcjit.disk_cache.store import DiskCache
    if sys.argv[1:]:
        import resource
        kind, limit = getattr(resource, sys.argv[1]), int(sys.argv[2])
        import posix, bcjit.disk_cache.store, bcjit.disk_cache.keys
        resource.setrlimit(kind, (limit, resource.getrlimit(kind)[1]))
    cache, key = DiskCache(), cache_key("x")
    print(cache.load(key))
    cache.store(key, bytes(20_000))
    print(len(cache.load(key) or ""))
"""
NOWHERE = {
    "no home": ("", ""),
    "a home that is none": ("relative", ""),
    "a home that cannot be written": ("/proc/self", ""),
    "a folder that cannot be made": ("/", "/proc/no/such"),
    "a folder in a file": ("/", "/dev/null/x"),
    "no path": ("/", "/x\0"),
}


@pytest.mark.parametrize("name", NOWHERE)
def test_where_there_can_be_no_cache_nothing_fails_and_only_who_asks_is_told(
    told, monkeypatch, name
):
    home, folder = NOWHERE[name]
    monkeypatch.setattr(store, "CACHE_HOME", {"HOME": home, "XDG_CACHE_HOME": ""})
    with config.override(disk_cache_folder=folder):
        DiskCache().store(KEY, DATA)
        assert DiskCache().load(KEY) is None
    assert told("INFO")
    assert told("WARNING") == []


def test_a_process_without_a_home_keeps_nothing_and_says_nothing():
    assert python(USES, HOME=None, XDG_CACHE_HOME=None) == (0, "None\n0\n", "")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write into a folder that is read only")
def test_a_folder_that_is_read_only_is_read(cache):
    cache.store(KEY, DATA)
    Path(cache.folder).chmod(0o500)
    cache.store(OTHER, DATA)
    assert cache.load(KEY) == DATA
    Path(cache.folder).chmod(0o700)
    assert len(names(cache)) == 2


@pytest.mark.parametrize(("kind", "limit"), [("RLIMIT_FSIZE", 9_000), ("RLIMIT_NOFILE", 3)])
def test_a_disk_that_is_full_or_no_file_that_can_be_opened_is_no_error(tmp_path, kind, limit):
    """A limit of a file's size fails in the middle of writing, as a full disk does."""
    found = python(USES, kind, limit, BCJIT_CACHE_DIR=tmp_path / "x")
    assert found == (0, "None\n0\n", "")
    files = listed(tmp_path / "x") if kind == "RLIMIT_FSIZE" else []
    assert files in ([], ["bcjit.secret"])


def test_the_home_of_somebody_else_gets_no_folder(tmp_path, monkeypatch, told):
    """Root with the home of the user who became root would leave a folder that the user cannot use."""
    monkeypatch.setattr(store, "CACHE_HOME", {"HOME": str(tmp_path), "XDG_CACHE_HOME": ""})
    with config.override(disk_cache_folder=""):
        with monkeypatch.context() as patch:
            patch.setattr(posix, "geteuid", lambda uid=os.geteuid(): uid + 1)
            DiskCache().store(KEY, DATA)
        assert listed(tmp_path) == []
        assert "the folder that it would be in belongs to user" in told()[0]
        DiskCache().store(KEY, DATA)
        assert DiskCache().load(KEY) == DATA
    assert listed(tmp_path) == [".cache"]


def test_what_a_signal_handler_of_the_program_raises_is_the_programs(cache, monkeypatch, told):
    """`TimeoutError` is an `OSError`, which the cache else keeps to itself."""

    def strikes(*_):
        raise TimeoutError

    cache.store(KEY, DATA)
    with monkeypatch.context() as patch:
        patch.setattr(sealing, "_code", strikes)
        pytest.raises(TimeoutError, lambda: cache.load(KEY))
        pytest.raises(TimeoutError, lambda: cache.store(KEY, b"new"))
    with monkeypatch.context() as patch:
        patch.setattr(own_files, "_write_all", strikes)
        pytest.raises(TimeoutError, lambda: cache.store(KEY, b"new"))
    assert told() == []
    assert names(cache) == ["bcjit.secret", f"{KEY}.kernel"]
    assert cache.load(KEY) == DATA


def test_what_a_program_puts_into_os_is_not_called(cache, monkeypatch):
    def fail(*_, **__):
        raise AssertionError

    with monkeypatch.context() as patch:
        for name in ("open", "fstat", "stat", "mkdir", "replace", "unlink", "scandir", "urandom"):
            patch.setattr(os, name, fail)
        patch.setattr(time, "time", fail)
        cache.store(KEY, DATA)
        found = cache.load(KEY)
    assert found == DATA


# The command


def test_info_counts_what_is_good_and_names_what_is_ignored(tmp_path, capsys):
    folder = tmp_path / "with\nnew line"
    with config.override(disk_cache_folder=str(folder)):
        assert command.info()[0].endswith("/with\\nnew line (not there yet)")
        cache = DiskCache()
        for n in range(3):
            cache.store(numbered(n), DATA)
        cache.store(KEY, DATA)
        file_of(cache).write_bytes(b"x" * 200)
        (folder / f"{KEY}.kernel.{1:016x}.tmp").touch()
        (folder / "no\udcff.txt").touch()
        assert command.info() == [
            f"folder   {tmp_path}/with\\nnew line",
            "kernels  3",
            f"bytes    {3 * (len(DATA) + sealing.OVERHEAD):,} of at most 268,435,456",
            "ignored  3 files",
            f"  {KEY}.kernel: it does not begin as files of the cache do",
            f"  {KEY}.kernel.0000000000000001.tmp: it is being written, or its writer was killed",
            "  no\\udcff.txt: it is none of the cache",
        ]
        (folder / "bcjit.secret").chmod(0o644)
        assert "  bcjit.secret: others may read it (-rw-r--r--)" in command.info()
        for n in range(25):
            (folder / f"file {n}").touch()
        assert command.info()[-1] == "  and 12 more"
        folder.chmod(0o777)
        assert command.info() == [
            f"no cache: {tmp_path}/with\\nnew line: others may write it (drwxrwxrwx)"
        ]
        with config.override(disk_cache=False):
            assert command.info()[0] == "switched off (BCJIT_CACHE=0)"


def test_clear_removes_the_files_of_the_cache_and_nothing_else(tmp_path):
    with config.override(disk_cache_folder=str(tmp_path / "x")):
        assert command.clear() == (["0 kernels removed, 0 bytes"], 0)
        cache = DiskCache()
        for n in range(2):
            cache.store(numbered(n), DATA)
        folder = Path(cache.folder)
        (folder / f"{KEY}.kernel.{1:016x}.tmp").touch()
        file_of(cache, numbered(9)).write_bytes(b"")
        foreign = ["notes.txt", f"{KEY[1:]}.kernel", f"{KEY}.kernel.tmp", f"x{KEY}.kernel"]
        for name in foreign:
            (folder / name).touch()
        file_of(cache).symlink_to("notes.txt")
        (folder / f"{numbered(8)}.kernel").mkdir()
        left = sorted([*foreign, f"{KEY}.kernel", f"{numbered(8)}.kernel"])
        assert command.clear() == (["3 kernels removed, 1,704 bytes"], 0)
        assert names(cache) == left
        folder.chmod(0o777)
        lines, code = command.clear()
        assert code == 1
        assert lines[0].startswith(f"nothing is removed: {folder}: others may write it")
        folder.chmod(0o700)
        cache.store(numbered(1), DATA)
        assert command.clear() == (["1 kernel removed, 852 bytes"], 0)


def test_the_command_line_shows_and_clears(tmp_path):
    cache = DiskCache(str(tmp_path / "x"))
    cache.store(KEY, DATA)
    words = ("-m", "bcjit", "cache")
    shown = python("", *words, "info", BCJIT_CACHE_DIR=cache.folder, BCJIT_CACHE_SIZE="1")
    assert shown == (
        0,
        f"folder   {cache.folder}\nkernels  1\nbytes    852 of at most 1,048,576\nignored  0 files\n",
        "",
    )
    Path(cache.folder).chmod(0o777)
    code, out, err = python("", *words, "clear", BCJIT_CACHE_DIR=cache.folder)
    assert (code, err) == (1, "")
    assert "others may write it" in out
