"""Models of transformers as ONNX files with dynamic sizes: a decoder with its cache of keys and values, driven by ONNX Runtime token for token."""

# libraries: transformers onnxruntime

import contextlib
import io

import numpy as np
import onnxruntime
import torch
import transformers as T

SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
ids = torch.arange(24).reshape(2, 12) * 7 % 90 + 1
ANY = torch.export.Dim.DYNAMIC


class WithCache(torch.nn.Module):
    """A decoder whose cache is a list of tensors."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens, mask, *past):
        cache = T.DynamicCache()
        for layer in range(len(past) // 2):
            cache.update(past[2 * layer], past[2 * layer + 1], layer)
        out = self.model(input_ids=tokens, attention_mask=mask, past_key_values=cache, use_cache=True)
        return (out.logits, *[each for layer in out.past_key_values.layers for each in (layer.keys, layer.values)])


def session(model, args, shapes):
    """A file of a model, loaded by ONNX Runtime."""
    with contextlib.redirect_stdout(io.StringIO()):  # PyTorch tells its progress there
        program = torch.onnx.export(model.eval(), args, dynamo=True, dynamic_shapes=shapes)
    return onnxruntime.InferenceSession(program.model_proto.SerializeToString(), providers=["CPUExecutionProvider"])


def run(file, *args):
    return file.run(None, dict(zip([each.name for each in file.get_inputs()], args)))


torch.manual_seed(0)
model = T.LlamaForCausalLM(T.LlamaConfig(**SMALL, vocab_size=99, num_key_value_heads=2)).eval()
past = [torch.randn(2, 2, 5, 8) for _ in range(4)]
file = session(
    WithCache(model),
    (ids[:, :3], torch.ones(2, 8, dtype=torch.long), *past),
    ({0: ANY, 1: ANY}, {0: ANY, 1: ANY}, tuple({0: ANY, 2: ANY} for _ in past)),
)
for tokens in (ids, ids.reshape(3, 8)):
    wanted = model.generate(
        tokens, attention_mask=torch.ones_like(tokens), max_new_tokens=9, do_sample=False, pad_token_id=0, eos_token_id=None
    ).numpy()
    found = given = tokens.numpy()
    cache = [np.zeros((len(tokens), 2, 0, 8), np.float32)] * 4
    for _ in range(9):
        logits, *cache = run(file, given, np.ones_like(found), *cache)
        given = logits[:, -1:].argmax(-1)
        found = np.concatenate([found, given], 1)
    print("decoder", bool((found == wanted).all()), found[:, tokens.shape[1] :].tolist())


class Encoder(torch.nn.Module):
    """The first result of a model."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens, mask):
        return self.model(tokens, attention_mask=mask)[0]


torch.manual_seed(1)
model = Encoder(T.BertModel(T.BertConfig(**SMALL, vocab_size=99)))
file = session(model, (ids, torch.ones_like(ids)), ({0: ANY, 1: ANY}, {0: ANY, 1: ANY}))
for tokens in (ids, ids.reshape(3, 8)):
    mask = (tokens > 9).long()
    made = run(file, tokens.numpy(), mask.numpy())[0]
    print("encoder", bool(np.allclose(made, model(tokens, mask).detach().numpy(), atol=1e-5)), f"{made.std():.4f}")
