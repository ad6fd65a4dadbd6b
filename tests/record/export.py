"""Record the programs that PyTorch exports from tests/export_programs.py: their texts, their .pt2 files and their results.

The files are PyTorch's, less the lines of source that it notes (they have the paths of one machine); all of them are in tests/data/export/programs.zip.
"""

import copy
import importlib.util
import io
import json
import logging
import sys
import warnings
import zipfile
from pathlib import Path

import torch
from torch.utils import _pytree as pytree

root = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("export_programs", root / "tests" / "export_programs.py")
module = importlib.util.module_from_spec(spec)
sys.modules["export_programs"] = module
spec.loader.exec_module(module)
logging.disable(logging.WARNING)
warnings.simplefilter("ignore")


def without_sources(data):
    """A .pt2 file without stack traces."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as given, zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as written:
        for name in given.namelist():
            content = given.read(name)
            if name.endswith("models/model.json"):
                content = json.dumps(stripped(json.loads(content))).encode()
            written.writestr(zipfile.ZipInfo(name), content)
    return made.getvalue()


def stripped(value):
    if isinstance(value, dict):
        return {key: stripped(each) for key, each in value.items() if key not in ("stack_trace", "torch_fn")}
    return [stripped(each) for each in value] if isinstance(value, list) else value


def text(ep):
    return "\n".join(line.rstrip() for line in str(ep).split("\n") if "# File" not in line and "# No stack" not in line and line.strip())


def saved(ep):
    held = io.BytesIO()
    torch.export.save(ep, held)
    return without_sources(held.getvalue())


texts, files, results = {}, {}, {}
for name, model, args, kwargs, dynamic in module.cases():
    try:
        ep = torch.export.export(model, args, kwargs, dynamic_shapes=dynamic)
    except Exception as error:
        texts[name] = f"{type(error).__name__}: {str(error).partition(chr(10) + chr(10) + 'The error above')[0]}"
        continue
    texts[name] = text(ep)
    files[f"{name}.pt2"] = saved(ep)
    torch.manual_seed(0)
    result = copy.deepcopy(ep).module()(*copy.deepcopy(args), **copy.deepcopy(kwargs))
    results[name] = [each.detach().clone() if isinstance(each, torch.Tensor) else each for each in pytree.tree_leaves(result)]
    files[f"{name}.decomposed.pt2"] = saved(ep.run_decompositions())
    texts[f"{name} functional"] = text(ep.run_decompositions({}))
errors = {}
for name, function, args, dynamic in module.mistakes():
    try:
        ep = torch.export.export(module.Calls(function), args, dynamic_shapes=dynamic)
        errors[name] = str(ep.range_constraints)
    except Exception as error:
        errors[name] = f"{type(error).__name__}: {str(error).partition(chr(10) + chr(10) + 'The error above')[0]}"
held = io.BytesIO()
torch.save(results, held)
folder = root / "tests" / "data" / "export"
folder.mkdir(exist_ok=True)
with zipfile.ZipFile(folder / "programs.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as written:
    for name, data in {
        **files,
        "results.pt": held.getvalue(),
        "texts.json": json.dumps(texts, indent=0).encode(),
        "errors.json": json.dumps(errors, indent=0).encode(),
    }.items():
        written.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED, 9)
print(len(texts), "texts,", len(files), "files")
