"""Loaders whose place can be saved and restored: maps and iterables, in this process and with workers."""

# libraries: torchdata
import torch
from torch.utils.data import Dataset, IterableDataset
from torchdata.stateful_dataloader import StatefulDataLoader


class Squares(Dataset):
    def __len__(self):
        return 23

    def __getitem__(self, index):
        return torch.tensor([index, index * index], dtype=torch.float32)


class Broken(Squares):
    def __getitem__(self, index):
        raise KeyError(index)


class Counter(IterableDataset):
    def __init__(self, count):
        self.count, self.position, self.resumed = count, 0, 0

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        self.position, self.resumed = self.resumed, 0
        while self.position < self.count:
            self.position += 1
            yield self.position - 1 + (100 * info.id if info else 0)

    def state_dict(self):
        return {"position": self.position}

    def load_state_dict(self, state):
        self.resumed = state["position"]


def loader(kind, workers):
    generator = torch.Generator().manual_seed(5)
    if kind == "map":
        return StatefulDataLoader(Squares(), batch_size=4, num_workers=workers, generator=generator, shuffle=True)
    return StatefulDataLoader(Counter(11), batch_size=4, num_workers=workers, generator=generator)


def main():
    for workers in (0, 2):
        for kind in ("map", "iterable"):
            torch.manual_seed(3)
            loading, seen = loader(kind, workers), []
            for number, batch in enumerate(loading):
                seen.append(batch.tolist())
                if number == 2:
                    state = loading.state_dict()
            print(workers, kind, seen, len(loading) if kind == "map" else "")
            again = loader(kind, workers)
            again.load_state_dict(state)
            print("  resumed", [batch.tolist() for batch in again])
            print("  next epoch", [batch.tolist() for batch in again][:2])
    loading = StatefulDataLoader(Squares(), batch_size=5, num_workers=2, persistent_workers=True, drop_last=True)
    for _ in range(2):
        print([batch.sum().item() for batch in loading])
    try:
        list(StatefulDataLoader(Broken(), num_workers=1))
    except KeyError as error:
        print("KeyError", str(error).splitlines()[0])


if __name__ == "__main__":
    main()
