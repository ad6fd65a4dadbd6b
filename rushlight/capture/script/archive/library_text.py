"""The forward of layers whose own source is no script, as serialized TorchScript."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....core.errors import CaptureError
from ....nn import modules as nn

Text = Callable[[Any], str]


def _conv(dims: int) -> Text:
    def write(module: Any) -> str:
        padding, source, before = module.padding, "input", ""
        if module.padding_mode != "zeros":
            before = f'    input0 = torch.pad(input, {list(module._reversed_padding_repeated_twice)}, "{module.padding_mode}")\n'
            padding, source = (0,) * dims, "input0"
        shown = f'"{padding}"' if isinstance(padding, str) else str(list(padding))
        call = (
            f"torch.conv{dims}d({source}, self.weight, self.bias, {list(module.stride)}, {shown}, {list(module.dilation)}, {module.groups})"
        )
        return f"  def forward(self, input: Tensor) -> Tensor:\n{before}    return {call}\n"

    return write


def _transposed(dims: int) -> Text:
    def write(module: Any) -> str:
        sizes = ", ".join(str(list(each)) for each in (module.stride, module.padding, module.output_padding))
        call = f"torch.conv_transpose{dims}d(input, self.weight, self.bias, {sizes}, {module.groups}, {list(module.dilation)})"
        return f"  def forward(self, input: Tensor) -> Tensor:\n    return {call}\n"

    return write


def _batch_norm(module: Any) -> str:
    lines = ["  def forward(self, input: Tensor) -> Tensor:"]
    momentum = 0.0 if module.momentum is None else module.momentum
    if module.track_running_stats and module.num_batches_tracked is not None:
        lines += ["    if self.training:", "      _0 = torch.add_(self.num_batches_tracked, 1)", "    else:", "      pass"]
        if module.momentum is None:
            raise CaptureError("a BatchNorm with momentum=None can't be written to an archive")
    training = "self.training" if module.running_mean is not None else "True"
    call = f"torch.batch_norm(input, self.weight, self.bias, self.running_mean, self.running_var, {training}, {momentum!r}, {module.eps!r}, True)"
    return "\n".join([*lines, f"    return {call}"]) + "\n"


def _instance_norm(module: Any) -> str:
    training = "True" if not module.track_running_stats else "self.training"
    call = f"torch.instance_norm(input, self.weight, self.bias, self.running_mean, self.running_var, {training}, {module.momentum!r}, {module.eps!r}, True)"
    return f"  def forward(self, input: Tensor) -> Tensor:\n    return {call}\n"


def _recurrent(name: str) -> Text:
    def write(module: Any) -> str:
        if getattr(module, "proj_size", 0):
            raise CaptureError(f"a {type(module).__name__} with a projection can't be written to an archive")
        count = module.num_layers * (2 if module.bidirectional else 1)
        names = [
            f"self.{kind}_l{layer}{suffix}"
            for layer in range(module.num_layers)
            for suffix in (("", "_reverse") if module.bidirectional else ("",))
            for kind in (("weight_ih", "weight_hh", "bias_ih", "bias_hh") if module.bias else ("weight_ih", "weight_hh"))
        ]
        pair = name == "lstm"
        state = "Tuple[Tensor, Tensor]" if pair else "Tensor"
        zeros = f"torch.zeros([{count}, size, {module.hidden_size}], dtype=ops.prim.dtype(batched), layout=None, device=ops.prim.device(batched))"
        options = (
            f"{module.bias}, {module.num_layers}, {float(module.dropout)!r}, self.training, {module.bidirectional}, {module.batch_first}"
        )
        batch = 0 if module.batch_first else 1
        results = "output, hidden, cell" if pair else "output, hidden"
        lines = [
            f"  def forward(self, input: Tensor, hx: Optional[{state}]=None) -> Tuple[Tensor, {state}]:",
            "    single = torch.eq(torch.dim(input), 2)",
            f"    if single:\n      batched = torch.unsqueeze(input, {batch})\n    else:\n      batched = input",
            f"    size = torch.size(batched, {batch})",
            "    if torch.__is__(hx, None):",
            f"      zeros = {zeros}",
            f"      first = {'[zeros, zeros]' if pair else 'zeros'}",
            "    else:",
            f"      given = unchecked_cast({state}, hx)",
            "      if single:",
            f"        inner = {'[torch.unsqueeze((given)[0], 1), torch.unsqueeze((given)[1], 1)]' if pair else 'torch.unsqueeze(given, 1)'}",
            "      else:",
            f"        inner = {'[(given)[0], (given)[1]]' if pair else 'given'}",
            "      first = inner",
            f"    {results} = torch.{name}(batched, first, [{', '.join(names)}], {options})",
            "    if single:",
            f"      out = torch.squeeze(output, {batch})",
            f"      last = {'(torch.squeeze(hidden, 1), torch.squeeze(cell, 1))' if pair else 'torch.squeeze(hidden, 1)'}",
            "    else:",
            "      out = output",
            f"      last = {'(hidden, cell)' if pair else 'hidden'}",
            "    return (out, last)",
        ]
        return "\n".join(lines) + "\n"

    return write


def _rnn(module: Any) -> str:
    return _recurrent(f"rnn_{module.nonlinearity}")(module)


def _cell(name: str, pair: bool) -> Text:
    def write(module: Any) -> str:
        state = "Tuple[Tensor, Tensor]" if pair else "Tensor"
        zeros = f"torch.zeros([torch.size(input, 0), {module.hidden_size}], dtype=ops.prim.dtype(input), layout=None, device=ops.prim.device(input))"
        kind = name if name != "rnn" else f"rnn_{module.nonlinearity}"
        weights = "self.weight_ih, self.weight_hh, " + ("self.bias_ih, self.bias_hh" if module.bias else "None, None")
        lines = [
            f"  def forward(self, input: Tensor, hx: Optional[{state}]=None) -> {state}:",
            "    if torch.__is__(hx, None):",
            f"      zeros = {zeros}",
            f"      first = {'[zeros, zeros]' if pair else 'zeros'}",
            "    else:",
            f"      given = unchecked_cast({state}, hx)",
            f"      first = {'[(given)[0], (given)[1]]' if pair else 'given'}",
            *(
                ["    hidden, cell = torch.lstm_cell(input, first, " + weights + ")", "    return (hidden, cell)"]
                if pair
                else [f"    return torch.{kind}_cell(input, first, {weights})"]
            ),
        ]
        return "\n".join(lines) + "\n"

    return write


def _embedding(module: Any) -> str:
    if module.max_norm is not None:
        raise CaptureError("an Embedding with max_norm can't be written to an archive")
    padding = -1 if module.padding_idx is None else module.padding_idx
    call = f"torch.embedding(self.weight, input, {padding}, {module.scale_grad_by_freq}, {module.sparse})"
    return f"  def forward(self, input: Tensor) -> Tensor:\n    return {call}\n"


def _embedding_bag(module: Any) -> str:
    if module.max_norm is not None:
        raise CaptureError("an EmbeddingBag with max_norm can't be written to an archive")
    how = f"{module.scale_grad_by_freq}, {('sum', 'mean', 'max').index(module.mode)}, {module.sparse}, samples, {module.include_last_offset}, {module.padding_idx}"
    lines = [
        "  def forward(self, input: Tensor, offsets: Optional[Tensor]=None, per_sample_weights: Optional[Tensor]=None) -> Tensor:",
        "    if torch.__is__(offsets, None):",
        "      starts = torch.arange(0, torch.numel(input), torch.size(input, 1))",
        "    else:",
        "      starts = unchecked_cast(Tensor, offsets)",
        "    if torch.__is__(per_sample_weights, None):",
        "      samples : Optional[Tensor] = None",
        "    else:",
        "      samples = torch.reshape(unchecked_cast(Tensor, per_sample_weights), [-1])",
        f"    return (torch.embedding_bag(self.weight, torch.reshape(input, [-1]), starts, {how}))[0]",
    ]
    return "\n".join(lines) + "\n"


def _attention(module: Any) -> str:
    if not module._qkv_same_embed_dim or module.bias_k is not None or module.add_zero_attn:
        raise CaptureError("a MultiheadAttention with kdim, vdim, add_bias_kv or add_zero_attn can't be written to an archive")
    heading = (
        "  def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Optional[Tensor]=None, need_weights: bool=True, "
        "attn_mask: Optional[Tensor]=None, average_attn_weights: bool=True, is_causal: bool=False) -> Tuple[Tensor, Optional[Tensor]]:"
    )
    bias = "torch.chunk(unchecked_cast(Tensor, self.in_proj_bias), 3)" if module.in_proj_bias is not None else ""
    return attention_text(
        heading, module.embed_dim, module.num_heads, "torch.chunk(self.in_proj_weight, 3)", bias, ("self.out_proj.weight", "self.out_proj.bias"),
        f"{float(module.dropout)!r}, self.training", bool(module.batch_first),
    )  # fmt: skip


def attention_text(
    heading: str, size: int, heads: int, weights: str, bias: str, out: tuple[str, str], dropout: str, batch_first: bool
) -> str:
    """A method or function that attends with several heads."""
    project = [
        f"    {name} = torch.transpose(torch.reshape(torch.linear({source}, (weights)[{at}], {f'(biases)[{at}]' if bias else 'None'}), "
        f"[torch.size({source}, 0), -1, {heads}, {size // heads}]), 1, 2)"
        for at, (name, source) in enumerate((("q", "query1"), ("k", "key1"), ("v", "value1")))
    ]
    first = [] if batch_first else [f"    {name}1 = torch.transpose({name}0, 0, 1)" for name in ("query", "key", "value")]
    lines = [
        heading,
        "    single = torch.eq(torch.dim(query), 2)",
        "    if single:",
        *[f"      {name}0 = torch.unsqueeze({name}, {0 if batch_first else 1})" for name in ("query", "key", "value")],
        "    else:",
        *[f"      {name}0 = {name}" for name in ("query", "key", "value")],
        *(first or [f"    {name}1 = {name}0" for name in ("query", "key", "value")]),
        f"    weights = {weights}",
        *([f"    biases = {bias}"] if bias else []),
        *project,
        f"    scores0 = torch.mul(torch.matmul(q, torch.transpose(k, -2, -1)), {(size // heads) ** -0.5!r})",
        "    scores = scores0",
        "    if torch.__isnot__(attn_mask, None):",
        "      mask0 = unchecked_cast(Tensor, attn_mask)",
        "      if torch.eq(torch.dim(mask0), 3):",
        f"        mask1 = torch.reshape(mask0, [-1, {heads}, torch.size(mask0, 1), torch.size(mask0, 2)])",
        "      else:",
        "        mask1 = mask0",
        "      if torch.eq(ops.prim.dtype(mask1), 11):",
        "        scores = torch.masked_fill(scores, mask1, -inf)",
        "      else:",
        "        scores = torch.add(scores, mask1)",
        "    else:",
        "      pass",
        "    if torch.__isnot__(key_padding_mask, None):",
        "      mask2 = unchecked_cast(Tensor, key_padding_mask)",
        "      mask3 = torch.unsqueeze(torch.unsqueeze(torch.reshape(mask2, [-1, torch.size(mask2, -1)]), 1), 1)",
        "      if torch.eq(ops.prim.dtype(mask3), 11):",
        "        scores = torch.masked_fill(scores, mask3, -inf)",
        "      else:",
        "        scores = torch.add(scores, mask3)",
        "    else:",
        "      pass",
        f"    attention = torch.dropout(torch.softmax(scores, -1), {dropout})",
        f"    mixed = torch.reshape(torch.transpose(torch.matmul(attention, v), 1, 2), [torch.size(query1, 0), -1, {size}])",
        f"    out = torch.linear(mixed, {out[0]}, {out[1]})",
        *([] if batch_first else ["    out = torch.transpose(out, 0, 1)"]),
        "    if average_attn_weights:",
        "      shown0 = torch.mean(attention, [1])",
        "    else:",
        "      shown0 = attention",
        "    if single:",
        f"      out = torch.squeeze(out, {0 if batch_first else 1})",
        "      shown1 = torch.squeeze(shown0, 0)",
        "    else:",
        "      shown1 = shown0",
        "    if need_weights:",
        "      shown : Optional[Tensor] = shown1",
        "    else:",
        "      shown = None",
        "    return (out, shown)",
    ]
    return "\n".join(lines) + "\n"


def _encoder(module: Any) -> str:
    lines = [
        "  def forward(self, src: Tensor, mask: Optional[Tensor]=None, src_key_padding_mask: Optional[Tensor]=None, is_causal: Optional[bool]=None) -> Tensor:",
        "    x = src",
        *[f'    x = (getattr(self.layers, "{at}")).forward(x, mask, src_key_padding_mask, )' for at in range(len(module.layers))],
        f"    return {'(self.norm).forward(x, )' if module.norm is not None else 'x'}",
    ]
    return "\n".join(lines) + "\n"


TEXTS: dict[type, Text] = {
    **{getattr(nn, f"Conv{dims}d"): _conv(dims) for dims in (1, 2, 3)},
    **{getattr(nn, f"ConvTranspose{dims}d"): _transposed(dims) for dims in (1, 2, 3)},
    **{getattr(nn, f"BatchNorm{dims}d"): _batch_norm for dims in (1, 2, 3)},
    **{getattr(nn, f"InstanceNorm{dims}d"): _instance_norm for dims in (1, 2, 3)},
    nn.LSTM: _recurrent("lstm"), nn.GRU: _recurrent("gru"), nn.RNN: _rnn, nn.LSTMCell: _cell("lstm", True), nn.GRUCell: _cell("gru", False), nn.RNNCell: _cell("rnn", False),
    nn.Embedding: _embedding, nn.EmbeddingBag: _embedding_bag, nn.MultiheadAttention: _attention, nn.TransformerEncoder: _encoder,
}  # fmt: skip
