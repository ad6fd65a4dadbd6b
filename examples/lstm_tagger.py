"""Tag the words of sentences with a bidirectional LSTM over packed sequences.

The sentences come from a little grammar.  Many of its words can be of two kinds ("the light burns", "they light the lamp"),
so that a word alone does not tell its tag: the network has to look at what stands around it.

    python examples/lstm_tagger.py --steps 100
"""

import argparse
import itertools
import json
import pathlib
import random
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

WORDS = {
    "DET": "the a this that every no".split(),
    "ADJ": "light cold open still clear small green old dry long".split(),
    "NOUN": "light fire marsh cut watch wind snow lamp burn walk open still rush".split(),
    "VERB": "light fire cut watch wind burn walk open still rush dry clear cold".split(),
    "PREP": "by in over under near long".split(),
    "PRON": "they we you it she he".split(),
    "ADV": "still long slowly often never".split(),
}
TAGS = list(WORDS)
VOCABULARY = sorted({word for words in WORDS.values() for word in words})
PADDING = -1


class Sentences(Dataset):
    """Sentences of a small grammar, as (word numbers, tag numbers), each of its own length."""

    def __init__(self, count, seed):
        self.stream = random.Random(seed)
        number = {word: index for index, word in enumerate(VOCABULARY)}
        self.sentences = []
        for _ in range(count):
            tags = self.sentence()
            words = [number[self.stream.choice(WORDS[tag])] for tag in tags]
            self.sentences.append((torch.tensor(words), torch.tensor([TAGS.index(tag) for tag in tags])))

    def sentence(self):
        """The tags of a sentence: who, perhaps how, does what to what, and where."""
        tags = self.subject() + ["ADV"] * self.stream.randint(0, 1) + ["VERB"] + self.noun_phrase()
        while self.stream.random() < 0.4:
            tags += ["PREP", *self.noun_phrase()]
        return tags

    def subject(self):
        return ["PRON"] if self.stream.random() < 0.4 else self.noun_phrase()

    def noun_phrase(self):
        return ["DET", *["ADJ"] * self.stream.choice([0, 0, 1, 1, 2]), "NOUN"]

    def __len__(self):
        return len(self.sentences)

    def __getitem__(self, index):
        return self.sentences[index]


def collate(batch):
    """Pad the sentences of a batch to one length, and tell their own lengths."""
    words, tags = zip(*batch)
    lengths = torch.tensor([len(each) for each in words])
    padded = pad_sequence(words, batch_first=True)
    return padded, pad_sequence(tags, batch_first=True, padding_value=PADDING), lengths


class Tagger(nn.Module):
    """Scores of every tag for every word of a batch of padded sentences."""

    def __init__(self, embedding=24, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(len(VOCABULARY), embedding)
        self.lstm = nn.LSTM(embedding, hidden, num_layers=2, batch_first=True, bidirectional=True)
        self.score = nn.Linear(2 * hidden, len(TAGS))

    def forward(self, words, lengths):
        # Packed, each sentence ends where it ends: the backward direction starts at its last word, not at padding.
        packed = pack_padded_sequence(self.embed(words), lengths, batch_first=True, enforce_sorted=False)
        output, _ = self.lstm(packed)
        output, _ = pad_packed_sequence(output, batch_first=True)
        return self.score(output)


def forever(loader):
    """The batches of a loader, shuffled anew each time around."""
    while True:
        yield from loader


@torch.no_grad()
def evaluate(model, loader):
    """The share of words that get the right tag."""
    model.eval()
    correct = count = 0
    for words, tags, lengths in loader:
        real = tags != PADDING
        correct += (model(words, lengths).argmax(dim=-1) == tags)[real].sum().item()
        count += real.sum().item()
    return correct / count


def show(model, text):
    """Print a sentence with the tags that the model gives it."""
    words = torch.tensor([[VOCABULARY.index(word) for word in text.split()]])
    tags = model(words, torch.tensor([words.shape[1]])).argmax(dim=-1)[0].tolist()
    print("  ".join(f"{word}/{TAGS[tag]}" for word, tag in zip(text.split(), tags)))


def main():
    parser = argparse.ArgumentParser(description="A bidirectional LSTM that tags words.")
    parser.add_argument("--steps", type=int, default=100, help="optimisation steps (default %(default)s)")
    parser.add_argument("--batch-size", type=int, default=32, help="sentences in a batch (default %(default)s)")
    parser.add_argument("--learning-rate", type=float, default=1e-2, help="of Adam (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the random stream (default %(default)s)")
    parser.add_argument("--losses", type=pathlib.Path, metavar="FILE", help="write the losses there, as JSON")
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    training = DataLoader(Sentences(1000, seed=1), options.batch_size, shuffle=True, collate_fn=collate)
    held_out = DataLoader(Sentences(200, seed=2), batch_size=50, collate_fn=collate)
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=options.learning_rate)
    print(f"{len(training.dataset)} sentences, {len(VOCABULARY)} words, {len(TAGS)} tags")

    losses = []
    for step, (words, tags, lengths) in enumerate(itertools.islice(forever(training), options.steps), start=1):
        scores = model(words, lengths)
        loss = F.cross_entropy(scores.transpose(1, 2), tags, ignore_index=PADDING)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 25 == 0 or step == 1:
            print(f"step {step:4d}   loss {loss.item():.4f}")
        elif sys.stdout.isatty():
            print(f"step {step:4d} of {options.steps}", end="\r", flush=True)

    print(f"sentences not seen before: {evaluate(model, held_out):.1%} of the words tagged rightly")
    show(model, "they light the light lamp by the open fire")
    if options.losses:
        options.losses.write_text(json.dumps(losses))


if __name__ == "__main__":
    main()
