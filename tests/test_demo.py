"""`make demo`: the whole road, from training to the pages."""

from __future__ import annotations

from pathlib import Path

from support.processes import start_python

ROOT = Path(__file__).resolve().parent.parent


def test_the_demonstration_goes_the_whole_road(tmp_path: Path) -> None:
    done = start_python(str(ROOT / "examples" / "demo.py"), str(tmp_path / "out"), folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    for words in ("Snake: nothing is wrong", "compiled  ", "agrees with the program on 6 random inputs", "0 breaks", "Where to look"):
        assert words in done.stdout
    for name in ("model.html", "compiled.html", "model.onnx", "weights.pt"):
        assert (tmp_path / "out" / name).stat().st_size > 1000
    assert [each.name for each in tmp_path.iterdir()] == ["out"] and "Traceback" not in done.stderr
