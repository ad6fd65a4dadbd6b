# ruff: noqa
"""sentence-transformers: encoding, training, saving."""

# libraries: sentence-transformers transformers
import torch, os
from transformers import BertConfig, BertModel, BertTokenizer

words = "[PAD] [UNK] [CLS] [SEP] [MASK] the a cat dog sat ran on mat in park big small fish bird flew".split()
os.makedirs("m", exist_ok=True)
open("m/vocab.txt", "w").write("\n".join(words))
BertTokenizer("m/vocab.txt").save_pretrained("m")
torch.manual_seed(0)
BertModel(
    BertConfig(vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
).save_pretrained("m")
from sentence_transformers import SentenceTransformer, models, losses, util, InputExample

w = models.Transformer("m", max_seq_length=16)
st = SentenceTransformer(
    modules=[w, models.Pooling(w.get_word_embedding_dimension() if hasattr(w, "get_word_embedding_dimension") else 32), models.Normalize()],
    device="cpu",
)
s = ["the cat sat on the mat", "a dog ran in the park", "big fish", "small bird flew"]
e = st.encode(s, convert_to_tensor=True)
print(e.shape, f"{e.sum().item():.4f}")
print([[round(v, 4) for v in r] for r in util.cos_sim(e, e).tolist()])
print(util.semantic_search(e[:1], e, top_k=2)[0][0]["corpus_id"])
print([[round(v, 3) for v in r] for r in st.similarity(e, e)[:1].tolist()])
from torch.utils.data import DataLoader

st.train()
opt = torch.optim.AdamW(st.parameters(), lr=1e-3)
loss = losses.MultipleNegativesRankingLoss(st)
for p in st.modules():
    if isinstance(p, torch.nn.Dropout):
        p.p = 0.0
for i in range(3):
    l = loss(
        [
            st.preprocess(s[:2]) if hasattr(st, "preprocess") else st.tokenize(s[:2]),
            st.preprocess(s[2:]) if hasattr(st, "preprocess") else st.tokenize(s[2:]),
        ],
        None,
    )
    opt.zero_grad()
    l.backward()
    opt.step()
    print(f"{l.item():.5f}")
st.save("out")
st2 = SentenceTransformer("out", device="cpu")
print(torch.allclose(st2.encode(s, convert_to_tensor=True), st.encode(s, convert_to_tensor=True)))
