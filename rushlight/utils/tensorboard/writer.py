"""``SummaryWriter``: values by tag and step, written to an event file in a folder.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder, SummaryWriter(folder) as writer:
...     writer.add_scalar("loss", 0.5, 1)
"""

from __future__ import annotations

import itertools
import os
import socket
import time
import weakref
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from . import summary
from .embedding import write_embedding
from .graph import onnx_graph, traced_graph
from .messages import Double, Message, field, optional, record

_numbers = itertools.count()


class RecordWriter:
    """Records in a file."""

    def __init__(self, path: Any) -> None:
        self._path = str(path)
        self._file = open(self._path, "ab")  # noqa: SIM115
        self._closing = weakref.finalize(self, self._file.close)

    def write(self, event_str: bytes) -> None:
        """Append a record."""
        self._file.write(record(event_str))

    def flush(self) -> None:
        """Have what was written so far in the file."""
        self._file.flush()

    def close(self) -> None:
        """End the file."""
        self._closing()


class FileWriter:
    """Events in a file of its own in a folder.  They are in the file after ``flush``, or after ``max_queue`` events or ``flush_secs`` seconds."""

    def __init__(self, log_dir: Any, max_queue: int = 10, flush_secs: float = 120, filename_suffix: str = "") -> None:
        self.log_dir = str(log_dir)
        os.makedirs(self.log_dir, exist_ok=True)
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{next(_numbers)}{filename_suffix}"
        self._max_queue, self._flush_secs = max_queue, flush_secs
        self._path = os.path.join(self.log_dir, name)
        self._records: RecordWriter | None = RecordWriter(self._path)
        self._waiting, self._flushed = 0, time.monotonic()
        self._write(field(3, "brain.Event:2") + field(10, field(1, "rushlight")), None)
        self.flush()

    def get_logdir(self) -> str:
        """The folder."""
        return self.log_dir

    def _write(self, content: bytes, step: Any, walltime: float | None = None) -> None:
        self.reopen()
        assert self._records is not None
        number = b"" if step is None else optional(2, int(step))
        self._records.write(field(1, Double(time.time() if walltime is None else walltime)) + number + content)
        self._waiting += 1
        if self._waiting > self._max_queue or time.monotonic() - self._flushed > self._flush_secs:
            self.flush()

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """An event as a message without time and step, or as bytes."""
        self._write(event if isinstance(event, bytes) else event.SerializeToString(), step, walltime)

    def add_summary(self, summary: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """A summary."""
        self._write(field(5, summary.SerializeToString()), global_step, walltime)

    def add_graph(self, graph_profile: Any, walltime: float | None = None) -> None:
        """The graph of a model."""
        graph = graph_profile[0] if isinstance(graph_profile, tuple) else graph_profile
        self._write(field(4, graph.SerializeToString()), None, walltime)

    def add_onnx_graph(self, graph: Any, walltime: float | None = None) -> None:
        """The graph of an ONNX file."""
        self.add_graph(graph, walltime)

    def flush(self) -> None:
        """Have all events in the file."""
        if self._records is not None:
            self._records.flush()
        self._waiting, self._flushed = 0, time.monotonic()

    def close(self) -> None:
        """End the file."""
        if self._records is not None:
            self._records.close()
        self._records = None

    def reopen(self) -> None:
        """Go on with the file after ``close``."""
        if self._records is None:
            self._records = RecordWriter(self._path)


class SummaryWriter:
    """Writes what a program tells about its run, for TensorBoard to show.

    ``log_dir`` is ``runs/<date>_<host><comment>`` unless given.  ``purge_step`` says that what an earlier run wrote for this step and later
    ones is not to be shown.
    """

    def __init__(
        self, log_dir: Any = None, comment: str = "", purge_step: int | None = None, max_queue: int = 10, flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:  # fmt: skip
        if not log_dir:
            log_dir = os.path.join("runs", f"{datetime.now().strftime('%b%d_%H-%M-%S')}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.purge_step = purge_step
        self.max_queue, self.flush_secs, self.filename_suffix = max_queue, flush_secs, filename_suffix
        self.file_writer: Any = None
        self.all_writers: Any = None
        self._get_file_writer()
        self.default_bins = summary._default_bins().tolist()

    def _get_file_writer(self) -> FileWriter:
        """The writer of this folder's file; it is made anew after ``close``."""
        if self.all_writers is None or self.file_writer is None:
            self.file_writer = self._folder(self.log_dir)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                self.file_writer.add_event(field(3, "brain.Event:2"), self.purge_step)
                self.file_writer.add_event(field(7, field(1, 1)), self.purge_step)
                self.purge_step = None
        return self.file_writer  # type: ignore[no-any-return]

    def _folder(self, log_dir: Any) -> FileWriter:
        return FileWriter(log_dir, self.max_queue, self.flush_secs, self.filename_suffix)

    def get_logdir(self) -> Any:
        """The folder."""
        return self.log_dir

    def _add(self, message: Message, step: Any, walltime: float | None) -> None:
        self._get_file_writer().add_summary(message, step, walltime)

    # -- numbers -------------------------------------------------------------------------------------------------

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: Any = None, walltime: float | None = None, new_style: bool = False,
        double_precision: bool = False,
    ) -> None:  # fmt: skip
        """A number."""
        self._add(summary.scalar(tag, scalar_value, new_style=new_style, double_precision=double_precision), global_step, walltime)

    def add_scalars(self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: Any = None, walltime: float | None = None) -> None:
        """Numbers in one chart: each in a folder of its own."""
        walltime = time.time() if walltime is None else walltime
        base = self._get_file_writer().get_logdir()
        for tag, number in tag_scalar_dict.items():
            folder = os.path.join(base, f"{main_tag.replace('/', '_')}_{tag}")
            if folder not in self.all_writers:
                self.all_writers[folder] = self._folder(folder)
            self.all_writers[folder].add_summary(summary.scalar(main_tag, number), global_step, walltime)

    def add_tensor(self, tag: str, tensor: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """A tensor with all its elements."""
        self._add(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(
        self, tag: str, values: Any, global_step: Any = None, bins: Any = "tensorflow", walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:  # fmt: skip
        """How values are spread."""
        self._add(summary.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(
        self, tag: str, min: Any, max: Any, num: Any, sum: Any, sum_squares: Any, bucket_limits: Any, bucket_counts: Any,
        global_step: Any = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """A histogram that was counted elsewhere."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        self._add(summary.histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts), global_step, walltime)

    def add_hparams(
        self, hparam_dict: dict[str, Any], metric_dict: dict[str, Any], hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None, global_step: Any = None,
    ) -> None:  # fmt: skip
        """Settings of a run and what came of it: in a folder of its own, named by the time or ``run_name``."""
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        folder = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(log_dir=folder) as writer:
            for message in summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete):
                writer._get_file_writer().add_summary(message, global_step)
            for name, number in metric_dict.items():
                writer.add_scalar(name, number, global_step)

    # -- pictures, sound, text -----------------------------------------------------------------------------------

    def add_image(
        self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None, dataformats: str = "CHW"
    ) -> None:
        """An image."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(
        self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None, dataformats: str = "NCHW"
    ) -> None:
        """Images, side by side as one."""
        if isinstance(img_tensor, list):
            if dataformats.upper() not in ("CHW", "HWC"):
                raise ValueError("A list of image is passed, but the dataformat is neither CHW nor HWC.")
            img_tensor = np.stack([summary.as_array(each) for each in img_tensor])
            dataformats = f"N{dataformats}"
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_image_with_boxes(
        self, tag: str, img_tensor: Any, box_tensor: Any, global_step: Any = None, walltime: float | None = None, rescale: float = 1,
        dataformats: str = "CHW", labels: Any = None,
    ) -> None:  # fmt: skip
        """An image with boxes (left, top, right, bottom) and their labels."""
        labels = [labels] if isinstance(labels, str) else labels
        boxes = summary.as_array(box_tensor)
        if labels is not None and len(labels) != boxes.shape[0]:
            labels = None
        self._add(summary.image_boxes(tag, img_tensor, boxes, rescale, dataformats, labels), global_step, walltime)

    def add_figure(self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: float | None = None) -> None:
        """A figure of matplotlib, or several; ``close`` closes them."""
        arrays = [_drawn(each, close) for each in (figure if isinstance(figure, list) else [figure])]
        if isinstance(figure, list):
            self.add_image(tag, np.stack(arrays), global_step, walltime, dataformats="NCHW")
        else:
            self.add_image(tag, arrays[0], global_step, walltime, dataformats="CHW")

    def add_video(self, tag: str, vid_tensor: Any, global_step: Any = None, fps: int = 4, walltime: float | None = None) -> None:
        """Videos (batch, time, colours, height, width)."""
        self._add(summary.video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(
        self, tag: str, snd_tensor: Any, global_step: Any = None, sample_rate: int = 44100, walltime: float | None = None
    ) -> None:
        """Sound between -1 and 1."""
        self._add(summary.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        """Text, which may be Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    # -- models and points ---------------------------------------------------------------------------------------

    def add_graph(self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True) -> None:
        """The graph of a Module, traced with an input."""
        graph = traced_graph(model, input_to_model, verbose)
        self._get_file_writer().add_graph(graph)

    def add_onnx_graph(self, prototxt: Any) -> None:
        """The graph of an ONNX file."""
        self._get_file_writer().add_onnx_graph(onnx_graph(prototxt))

    def add_embedding(
        self, mat: Any, metadata: Any = None, label_img: Any = None, global_step: Any = None, tag: str = "default",
        metadata_header: Any = None,
    ) -> None:  # fmt: skip
        """Points with labels and pictures, for the projector."""
        folder = Path(str(self._get_file_writer().get_logdir()))
        write_embedding(folder, summary.as_array(mat), metadata, label_img, 0 if global_step is None else global_step, tag, metadata_header)

    def add_mesh(
        self, tag: str, vertices: Any, colors: Any = None, faces: Any = None, config_dict: Any = None, global_step: Any = None,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Points in space, perhaps with colours and triangles."""
        self._add(summary.mesh(tag, vertices, colors, faces, config_dict), global_step, walltime)

    # -- curves and charts ---------------------------------------------------------------------------------------

    def add_pr_curve(
        self, tag: str, labels: Any, predictions: Any, global_step: Any = None, num_thresholds: int = 127, weights: Any = None,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Precision and recall by threshold."""
        labels, predictions = summary.as_array(labels), summary.as_array(predictions)
        self._add(summary.pr_curve(tag, labels, predictions, num_thresholds, weights), global_step, walltime)

    def add_pr_curve_raw(
        self, tag: str, true_positive_counts: Any, false_positive_counts: Any, true_negative_counts: Any, false_negative_counts: Any,
        precision: Any, recall: Any, global_step: Any = None, num_thresholds: int = 127, weights: Any = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Precision and recall that were counted elsewhere."""
        rows = (true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts, precision, recall)
        tp, fp, tn, fn, precision, recall = map(summary.as_array, rows)
        self._add(summary.pr_curve_raw(tag, tp, fp, tn, fn, precision, recall, num_thresholds, weights), global_step, walltime)

    def add_custom_scalars(self, layout: dict[str, Any]) -> None:
        """Which charts show which tags: ``{"loss": {"both": ["Multiline", ["a", "b"]]}}``."""
        self._add(summary.custom_scalars(layout), None, None)

    def add_custom_scalars_multilinechart(self, tags: Any, category: str = "default", title: str = "untitled") -> None:
        """One chart with a line for each tag."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags: Any, category: str = "default", title: str = "untitled") -> None:
        """One chart of a value between a lower and an upper one."""
        if len(tags) != 3:
            raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    # -- ending --------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Have all that was added in the files."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """End the files."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        self.close()


def _drawn(figure: Any, close: bool) -> np.ndarray[Any, Any]:
    """A figure of matplotlib as an image: colours, height, width."""
    from matplotlib import pyplot
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    picture = np.asarray(canvas.buffer_rgba())[:, :, :3].transpose(2, 0, 1)
    if close:
        pyplot.close(figure)
    return picture
