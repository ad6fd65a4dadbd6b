"""transformers' Trainer: losses, evaluation, resume from a checkpoint, gradient checkpointing, bfloat16."""

# libraries: transformers accelerate

import os
import tempfile

import torch
import transformers as T

T.logging.set_verbosity_error()


class Numbers(torch.utils.data.Dataset):
    def __init__(self, count):
        generator = torch.Generator().manual_seed(3)
        self.rows = torch.randint(0, 50, (count, 16), generator=generator)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return {"input_ids": self.rows[index], "labels": self.rows[index]}


def trainer(folder, **more):
    T.set_seed(0)
    model = T.GPT2LMHeadModel(T.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=50, n_positions=32, resid_pdrop=0.1))
    arguments = T.TrainingArguments(
        output_dir=folder, max_steps=6, per_device_train_batch_size=4, learning_rate=5e-3, logging_steps=1, save_steps=3, report_to=[], seed=0,
        warmup_steps=2, weight_decay=0.01, gradient_accumulation_steps=2, disable_tqdm=True, use_cpu=True, **more,
    )  # fmt: skip
    made = T.Trainer(model=model, args=arguments, train_dataset=Numbers(64), eval_dataset=Numbers(8))
    made.remove_callback(T.PrinterCallback)
    return made


def losses(run):
    return " ".join(f"{entry['loss']:.3f}" for entry in run.state.log_history if "loss" in entry)


with tempfile.TemporaryDirectory() as folder:
    run = trainer(folder)
    run.train()
    print("losses", losses(run))
    print("eval", f"{run.evaluate()['eval_loss']:.4f}")
    print(sorted(os.listdir(folder)))
    resumed = trainer(folder)
    resumed.train(resume_from_checkpoint=os.path.join(folder, "checkpoint-3"))
    print("resumed", losses(resumed))
with tempfile.TemporaryDirectory() as folder:
    run = trainer(folder, gradient_checkpointing=True)
    run.train()
    print("checkpointed", losses(run))
with tempfile.TemporaryDirectory() as folder:
    run = trainer(folder, bf16=True)
    run.train()
    print("bfloat16", " ".join(f"{float(x):.1f}" for x in losses(run).split()))
