"""Event files for TensorBoard: what is written, read back by a small decoder of protobuf's format."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

import rushlight as torch
from rushlight.utils.tensorboard import SummaryWriter
from rushlight.utils.tensorboard.messages import checksum


def decode(data: bytes) -> dict[int, list[Any]]:
    """The fields of a message by number."""
    found: dict[int, list[Any]] = {}
    at = 0

    def varint() -> int:
        nonlocal at
        shift = value = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            value: Any = varint()
        else:
            size = {1: 8, 5: 4}.get(kind) or varint()
            value, at = data[at : at + size], at + size
        found.setdefault(key >> 3, []).append(value)
    return found


def events(folder: Path) -> list[dict[int, list[Any]]]:
    """The events of all files in a folder, their checksums tested."""
    found = []
    for file in sorted(folder.glob("events.out.tfevents.*")):
        data, at = file.read_bytes(), 0
        while at < len(data):
            (size,) = struct.unpack_from("<Q", data, at)
            assert struct.unpack_from("<I", data, at + 8)[0] == checksum(data[at : at + 8])
            body = data[at + 12 : at + 12 + size]
            assert struct.unpack_from("<I", data, at + 12 + size)[0] == checksum(body)
            found.append(decode(body))
            at += 16 + size
    return found


def values(folder: Path) -> dict[str, tuple[int, dict[int, list[Any]]]]:
    """The values of all summaries: tag -> (step, fields)."""
    found = {}
    for event in events(folder):
        for summary in event.get(5, []):
            for value in map(decode, decode(summary).get(1, [])):
                found[value[1][0].decode()] = event.get(2, [0])[0], value
    return found


def test_scalars(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("a b/loss", torch.tensor(0.5), 3)
        writer.add_scalar("new", 0.1, 4, new_style=True, double_precision=True)
        writer.add_scalars("both", {"x": 1.0, "y": 2.0}, 1)
        with pytest.raises(AssertionError, match="one element"):
            writer.add_scalar("wrong", torch.ones(2))
    first = events(tmp_path)[0]
    assert first[3] == [b"brain.Event:2"]
    found = values(tmp_path)
    step, value = found["a b/loss"]
    assert step == 3 and struct.unpack("<f", value[2][0]) == (0.5,)
    step, value = found["new"]
    assert step == 4 and struct.unpack("<d", decode(value[8][0])[6][0]) == (0.1,)
    assert decode(decode(value[9][0])[1][0])[1] == [b"scalars"]
    assert struct.unpack("<f", values(tmp_path / "both_y")["both"][1][2][0]) == (2.0,)


def test_histogram(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("h", torch.tensor([-1.0, 0.5, 0.5, 2.0]))
    histogram = decode(values(tmp_path)["h"][1][5][0])
    low, high, count, total, squares = (struct.unpack("<d", histogram[place][0])[0] for place in range(1, 6))
    assert (low, high, count, total, squares) == (-1.0, 2.0, 4.0, 2.0, 5.5)
    limits, counts = (struct.unpack(f"<{len(histogram[place][0]) // 8}d", histogram[place][0]) for place in (6, 7))
    assert sum(counts) == 4 and len(limits) == len(counts)
    assert counts[0] == 0 and limits[0] <= -1 <= limits[1]  # the first bin is empty, below the first limit


def test_text_curves_and_settings(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_text("t", "hello", 1)
        writer.add_pr_curve("pr", torch.tensor([0, 1, 1, 0]), torch.tensor([0.1, 0.8, 0.4, 0.6]), num_thresholds=3)
        writer.add_hparams({"lr": 0.1, "name": "x"}, {"acc": 0.5}, run_name="run")
    found = values(tmp_path)
    tensor = decode(found["t/text_summary"][1][8][0])
    assert tensor[1] == [7] and tensor[8] == [b"hello"]
    curve = decode(found["pr"][1][8][0])
    rows = struct.unpack("<18f", curve[5][0])
    assert rows[:3] == (2.0, 1.0, 0.0) and rows[3:6] == (2.0, 1.0, 0.0)  # true and false answers by threshold
    run = values(tmp_path / "run")
    assert {"_hparams_/experiment", "_hparams_/session_start_info", "_hparams_/session_end_info", "acc"} == set(run)


def test_images_and_sound(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("one", torch.rand(3, 4, 6))
        writer.add_images("many", torch.rand(3, 1, 4, 6))
        writer.add_audio("tone", torch.zeros(8), sample_rate=100)
        with pytest.raises(AssertionError):
            writer.add_image("wrong", torch.rand(4, 6))
    found = values(tmp_path)
    image = decode(found["one"][1][4][0])
    assert (image[1], image[2], image[3]) == ([4], [6], [3]) and image[4][0].startswith(b"\x89PNG")
    assert decode(found["many"][1][4][0])[2] == [18]  # side by side
    sound = decode(found["tone"][1][6][0])
    assert sound[3] == [8] and sound[4][0].startswith(b"RIFF")


def test_graph_and_points(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU()), torch.ones(2, 3))
        writer.add_embedding(torch.ones(2, 3), metadata=["a", "b"], global_step=1)
    (graph,) = [event[4][0] for event in events(tmp_path) if 4 in event]
    nodes = [decode(node) for node in decode(graph)[1]]
    assert [node[2][0] for node in nodes if b"aten" in node[2][0]] == [b"aten::linear", b"aten::relu"]
    relu = next(node for node in nodes if node[2][0] == b"aten::relu")
    assert relu[3][0].endswith(b"linear")
    assert (tmp_path / "00001/default/tensors.tsv").read_text() == "1.0\t1.0\t1.0\n" * 2
    assert 'metadata_path: "00001/default/metadata.tsv"' in (tmp_path / "projector_config.pbtxt").read_text()


def test_a_writer_goes_on_after_close(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path, purge_step=5)
    writer.add_scalar("a", 1.0, 5)
    writer.close()
    writer.add_scalar("b", 2.0, 6)
    writer.flush()
    assert set(values(tmp_path)) == {"a", "b"}
    assert any(7 in event for event in events(tmp_path))  # the start of a session, from which on earlier events are not shown
    writer.close()
