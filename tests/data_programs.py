"""Orders and seeds of data loading: computed with PyTorch when they are recorded, and with rushlight when they are compared."""

from __future__ import annotations

import random
from typing import Any

import numpy as np


class WorkerSeeds:
    """A dataset whose samples are what a worker draws first."""

    def __init__(self, torch: Any, data: Any) -> None:
        self.torch, self.data = torch, data

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> Any:
        info = self.data.get_worker_info()
        return (
            index, info.id, info.num_workers, info.seed, self.torch.initial_seed(), random.random(),
            float(np.random.rand()), float(self.torch.rand(1).item()),
        )  # fmt: skip


def programs(torch: Any, data: Any) -> dict[str, Any]:
    """Everything by name, as plain lists."""

    def epochs(count: int = 2, **options: Any) -> Any:
        torch.manual_seed(0)
        loader = data.DataLoader(range(11), **options)
        return [[batch.tolist() if hasattr(batch, "tolist") else batch for batch in loader] for _ in range(count)] + [torch.rand(1).item()]

    def drawn(make: Any) -> Any:
        torch.manual_seed(3)
        return [make(), make(), torch.rand(1).item()]

    def split(lengths: Any, seed: int | None = None) -> Any:
        torch.manual_seed(1)
        more = {} if seed is None else {"generator": torch.Generator().manual_seed(seed)}
        return [part.indices for part in data.random_split(range(23), lengths, **more)]

    def own_generator(**options: Any) -> Any:
        generator = torch.Generator().manual_seed(7)
        found = epochs(generator=generator, **options)
        return [found, torch.rand(1, generator=generator).item()]

    def distributed(rank: int, **options: Any) -> Any:
        sampler = data.DistributedSampler(range(10), 3, rank, **options)
        first = list(sampler)
        sampler.set_epoch(4)
        return [first, list(sampler), len(sampler)]

    torch.manual_seed(5)
    seeds = [list(each) for each in data.DataLoader(WorkerSeeds(torch, data), num_workers=2, batch_size=None)]
    return {
        "in order": epochs(batch_size=4),
        "shuffled": epochs(batch_size=4, shuffle=True),
        "shuffled, last dropped": epochs(batch_size=4, shuffle=True, drop_last=True),
        "shuffled samples": epochs(batch_size=None, shuffle=True),
        "shuffled by workers": epochs(batch_size=3, shuffle=True, num_workers=2),
        "shuffled by persistent workers": epochs(3, batch_size=3, shuffle=True, num_workers=2, persistent_workers=True),
        "own generator": own_generator(batch_size=4, shuffle=True),
        "own generator, workers": own_generator(batch_size=4, shuffle=True, num_workers=1),
        "own sampler": epochs(batch_size=2, sampler=[3, 1, 2]),
        "own batches": epochs(batch_sampler=[[3, 1], [2]]),
        "random sampler": drawn(lambda: list(data.RandomSampler(range(9)))),
        "random sampler, replacement": drawn(lambda: list(data.RandomSampler(range(9), replacement=True, num_samples=70))),
        "random sampler, more": drawn(lambda: list(data.RandomSampler(range(5), num_samples=12))),
        "random sampler, fewer": drawn(lambda: list(data.RandomSampler(range(9), num_samples=4))),
        "subset sampler": drawn(lambda: list(data.SubsetRandomSampler([5, 6, 7, 8]))),
        "weighted sampler": drawn(lambda: list(data.WeightedRandomSampler([0.1, 0.5, 0.4], 20))),
        "weighted sampler, once each": drawn(lambda: list(data.WeightedRandomSampler([0.1, 0.5, 0.4, 0.2], 3, False))),
        "split": split([10, 13]),
        "split by fractions": split([0.3, 0.3, 0.4]),
        "split by a seed": split([0.5, 0.5], 42),
        "distributed": [distributed(rank, seed=2) for rank in range(3)],
        "distributed, in order": [distributed(rank, shuffle=False, drop_last=True) for rank in range(3)],
        "seeds of workers": seeds,
    }
