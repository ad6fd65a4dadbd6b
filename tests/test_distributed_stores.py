"""Key-value stores of processes, and rendezvous, which gives them."""

from __future__ import annotations

import threading
import time
from datetime import timedelta

import pytest
from support.processes import run_python

import rushlight as torch
from rushlight import distributed as dist


def test_stores() -> None:
    store = dist.PrefixStore("a", dist.HashStore())
    store.set("key", "value")
    assert store.get("key") == b"value" and store.add("n", 2) == 2 and store.add("n", 3) == 5
    assert store.underlying_store.check(["a/key"]) and store.delete_key("key") and not store.check(["key"])


@pytest.mark.parametrize("kind", ["memory", "file", "tcp", "prefix"])
def test_queues_of_stores(kind: str, tmp_path) -> None:
    made = {
        "memory": dist.HashStore,
        "file": lambda: dist.FileStore(str(tmp_path / "store"), 1),
        "tcp": lambda: dist.TCPStore("localhost", 0, None, True),
        "prefix": lambda: dist.PrefixStore("part", dist.HashStore()),
    }
    store = made[kind]()
    assert not store.check(["jobs"]) and store.queue_len("jobs") == 0
    store.queue_push("jobs", "1")
    store.queue_push("jobs", b"2")
    store.wait(["jobs"])
    assert store.queue_len("jobs") == 2 and store.clone().queue_pop("jobs") == b"1" and store.queue_pop("jobs") == b"2"
    assert not store.check(["jobs"]) and store.list_keys() == []
    with pytest.raises(dist.QueueEmptyError, match="empty"):
        store.queue_pop("jobs", block=False)
    store.set_timeout(timedelta(seconds=0.05))
    with pytest.raises(dist.DistStoreError, match="timeout"):
        store.queue_pop("jobs")


def test_several_stores_of_one_process() -> None:
    first, second = (dist.TCPStore("localhost", 0, 1, True) for _ in range(2))
    first.set("who", "first")
    second.set("who", "second")
    for store, name in ((first, b"first"), (second, b"second")):
        for _ in range(2):
            assert dist.TCPStore("localhost", store.port, is_master=False).get("who") == name
    with pytest.raises(dist.DistNetworkError, match="failed to listen"):
        dist.TCPStore("localhost", first.port, 1, True)


def test_rendezvous_gives_a_store(tmp_path, monkeypatch) -> None:
    store, rank, size = next(dist.rendezvous(f"file://{tmp_path / 'store'}?rank=1&world_size=2"))
    store.set("a", "b")
    assert (rank, size, store.get("a")) == (1, 2, b"b")
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "0"}.items():
        monkeypatch.setenv(name, value)
    store, rank, size = next(dist.rendezvous("env://"))
    assert (rank, size, store.add("n", 2)) == (0, 2, 2)
    with pytest.raises(ValueError, match="rank parameter missing"):
        next(dist.rendezvous("tcp://localhost:1"))
    with pytest.raises(RuntimeError, match="No rendezvous handler for gopher"):
        next(dist.rendezvous("gopher://x"))


@pytest.mark.parametrize("kind", ["file", "tcp"])
def test_stores_of_several_processes(kind, tmp_path) -> None:
    if kind == "file":
        make, code = lambda: dist.FileStore(str(tmp_path / "store"), 2), f"dist.FileStore({str(tmp_path / 'store')!r}, 2)"
        store = make()
    else:
        store = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False, timeout=timedelta(seconds=20))
        code = f"dist.TCPStore('localhost', {store.port}, timeout=timedelta(seconds=20))"
    store.set("mine", b"\x80\xff")
    found = run_python(f"""
        from datetime import timedelta
        import rushlight.distributed as dist
        store = {code}
        assert store.get("mine") == b"\\x80\\xff" and not store.check(["absent"])
        store.set("theirs", "x")
        print(store.add("count", 5), store.compare_set("mine", "other", "new") == b"\\x80\\xff")
        try:
            store.wait(["absent"], timedelta(seconds=0.1))
        except dist.DistStoreError as error:
            print("waited")
    """)
    assert found.split() == ["5", "True", "waited"]
    assert store.get("theirs") == b"x" and store.add("count", 1) == 6 and store.delete_key("theirs") and not store.check(["theirs"])
    if kind == "tcp":
        with pytest.raises(dist.DistNetworkError, match="failed to listen"):
            dist.TCPStore("localhost", store.port, is_master=True, wait_for_workers=False)
        with pytest.raises(torch.NotSupported, match="RUSHLIGHT_STORE_KEY"):
            dist.TCPStore("elsewhere.example", 1, is_master=False)


def test_barrier_of_stores() -> None:
    store = dist.TCPStore("localhost", 0, None, True)
    store.barrier("alone", 1)
    came = []
    threads = [threading.Thread(target=lambda: came.append(store.barrier("both", 2, timedelta(seconds=20)))) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert came == [None, None]
    with pytest.raises(dist.DistStoreError, match="barrier timeout after 50ms, key: all: 1 of 2 processes have come"):
        dist.HashStore().barrier("all", 2, timedelta(seconds=0.05))


def test_stores_of_programs() -> None:
    class Given(dist.Store):
        def __init__(self) -> None:
            super().__init__()
            self.held = {}

        def set(self, key, value) -> None:
            assert type(value) is bytes
            self.held[key] = value

        def get(self, key) -> bytes:
            return self.held[key]

        def compare_set(self, key, expected, desired) -> bytes:
            if self.held.get(key, expected) == expected:
                self.held[key] = desired
            return self.held[key]

    store = dist.PrefixStore("p", Given())
    assert not store.has_extended_api() and dist.PrefixStore("p", dist.HashStore()).has_extended_api()
    for each in ("po", b"tato"):
        store.append("foo", each)
    store.multi_set(["a", "b"], ["c", b"d"])
    assert store.multi_get(["a", "b", "foo"]) == [b"c", b"d", b"potato"] and store.underlying_store.held["p/a"] == b"c"
    with pytest.raises(RuntimeError, match="Not implemented"):
        store.check(["a"])
    with pytest.raises(NotImplementedError, match="queue support"):
        store.queue_push("a", "b")
    with pytest.raises(ValueError):
        dist.PrefixStore("p", None)


def test_file_of_a_store_ends_with_the_last_store(tmp_path) -> None:
    path = tmp_path / "store"
    first, second = dist.FileStore(str(path), 2), dist.FileStore(str(path), 2)
    first.set("key", "value")
    assert first.num_keys() == 2 and second.list_keys() == ["key"]
    del first
    assert path.exists() and second.get("key") == b"value"
    del second
    assert not path.exists()  # so that the next program finds none of the keys of this one


def test_server_of_a_store_ends_with_it(monkeypatch) -> None:
    store = dist.TCPStore("localhost", 0, 1, True, multi_tenant=True)
    port = store.port
    assert store.num_keys() == 1 and store.list_keys() == []
    again = dist.TCPStore("localhost", port, 1, True, multi_tenant=True)
    store.set("key", "value")
    assert again.port == port and again.get("key") == b"value"
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "1")
    monkeypatch.setenv("MASTER_PORT", str(port))
    assert dist.TCPStore("localhost", port, 1, True).get("key") == b"value"
    monkeypatch.delenv("TORCHELASTIC_USE_AGENT_STORE")
    del store, again
    for _ in range(100):
        try:
            store = dist.TCPStore("localhost", port, 1, True)
            break
        except dist.DistNetworkError:  # the thread of the server closes it
            time.sleep(0.05)
    assert not store.check(["key"])
    store.set("ready", "1")
    waiting = dist.TCPStore("localhost", port, 5, timeout=timedelta(seconds=5))  # only the server waits for the others
    assert waiting.get("ready") == b"1"
    with pytest.raises(ValueError, match="world size cannot be 0"):
        dist.TCPStore("localhost", 0, world_size=0)


def test_errors_of_rendezvous() -> None:
    with pytest.raises(AssertionError, match="has node-specific arguments"):
        dist.rendezvous("file://foo?rank=12&world_size=16", 12, 16)
    for url, text in {
        "file://?rank=0&world_size=1": "path missing",
        "tcp://127.0.0.1?rank=0&world_size=1": "port number missing",
        "tcp://127.0.0.1:23456?world_size=1": "rank parameter missing",
        "tcp://127.0.0.1:23456?rank=0": "size parameter missing",
    }.items():
        with pytest.raises(ValueError, match=text):
            next(dist.rendezvous(url))
    store = next(dist.rendezvous("tcp://localhost:0?world_size=1&rank=0&use_libuv=0"))[0]
    assert isinstance(store, dist.TCPStore) and not store.libuvBackend
    store.set_timeout(timedelta(seconds=0.1))
    with pytest.raises(dist.DistStoreError, match="wait timeout after 100ms, keys: /the_key"):
        store.get("the_key")
