# libraries: lightning
"""Lightning: Trainer.fit with validation, a checkpoint, a resumed run and predictions."""

import logging
import tempfile
import warnings

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Model(L.LightningModule):
    def __init__(self, width=8):
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.Tanh(), torch.nn.Linear(width, 1))

    def training_step(self, batch, index):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.net(x), y)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        self.log("val", torch.nn.functional.mse_loss(self.net(x), y))

    def predict_step(self, batch, index):
        return self.net(batch[0])

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=0.02)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)]


L.seed_everything(0, verbose=False)
x = torch.randn(64, 4)
data = TensorDataset(x, x.sum(1, keepdim=True))
train, validation = DataLoader(data, batch_size=16), DataLoader(data, batch_size=32)
with tempfile.TemporaryDirectory() as folder:
    options = dict(
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        accelerator="cpu",
        default_root_dir=folder,
        gradient_clip_val=1.0,
    )
    model = Model()
    saver = ModelCheckpoint(dirpath=folder, monitor="val", filename="best")
    trainer = L.Trainer(max_epochs=2, callbacks=[saver], **options)
    trainer.fit(model, train, validation)
    print({name: round(value.item(), 5) for name, value in trainer.callback_metrics.items()}, trainer.global_step)
    again = L.Trainer(max_epochs=3, enable_checkpointing=False, **options)
    again.fit(Model(), train, validation, ckpt_path=saver.best_model_path)
    print({name: round(value.item(), 5) for name, value in again.callback_metrics.items()}, again.global_step)
    loaded = Model.load_from_checkpoint(saver.best_model_path)
    print(loaded.hparams.width, round(torch.cat(again.predict(loaded, validation)).sum().item(), 4))
