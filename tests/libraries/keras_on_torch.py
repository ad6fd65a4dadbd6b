"""Keras with PyTorch as its backend: models, training, saving."""

# libraries: keras
import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch
from keras import layers, ops
from shared.reporting import show

print(keras.backend.backend())
keras.utils.set_random_seed(0)
x, y = np.random.rand(64, 8).astype("float32"), np.random.randint(0, 3, 64)
model = keras.Sequential(
    [keras.Input((8,)), layers.Dense(16, activation="relu"), layers.LayerNormalization(), layers.Dropout(0.0), layers.Dense(3)]
)
model.compile(
    optimizer=keras.optimizers.Adam(0.01), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"]
)
weights = [np.sin(np.arange(w.numpy().size, dtype="float32")).reshape(w.shape) * 0.3 for w in model.weights]
model.set_weights(weights)
history = model.fit(x, y, epochs=3, batch_size=16, shuffle=False, verbose=0)
show("losses", *history.history["loss"], *map(float, history.history["accuracy"]))
show("evaluate", *map(float, model.evaluate(x, y, verbose=0)), torch.as_tensor(model.predict(x, verbose=0)))
model.save("model.keras")
again = keras.saving.load_model("model.keras")
show("loaded", torch.as_tensor(again.predict(x, verbose=0)), isinstance(again, torch.nn.Module), len(list(again.parameters())))

images = np.random.rand(4, 12, 12, 3).astype("float32")
inputs = keras.Input((12, 12, 3))
h = layers.Conv2D(4, 3, padding="same", activation="gelu")(inputs)
h = layers.BatchNormalization()(h)
h = layers.MaxPooling2D()(h)
h = layers.SeparableConv2D(6, 3)(h)
h = layers.Concatenate()([layers.GlobalAveragePooling2D()(h), layers.GlobalMaxPooling2D()(h)])
net = keras.Model(inputs, layers.Dense(2, activation="softmax")(h))
net.set_weights(
    [np.cos(np.arange(w.numpy().size, dtype="float32")).reshape(w.shape) * 0.2 + (1 if "variance" in w.path else 0) for w in net.weights]
)
net.compile("sgd", "categorical_crossentropy")
show("convolutions", *map(float, (net.train_on_batch(images, np.eye(2)[[0, 1, 1, 0]]) for _ in range(2))))
words = np.random.randint(0, 20, (4, 7))
text = keras.Sequential(
    [
        keras.Input((7,)),
        layers.Embedding(20, 6),
        layers.Bidirectional(layers.LSTM(5, return_sequences=True)),
        layers.GRU(4),
        layers.Dense(1),
    ]
)
text.set_weights(
    [np.sin(np.arange(w.numpy().size, dtype="float32") * 0.7).reshape(w.shape) * 0.4 for w in text.weights if "seed" not in w.path]
)
show("recurrent", torch.as_tensor(text.predict(words, verbose=0)))
text.compile("rmsprop", "mse")
show("recurrent loss", float(text.train_on_batch(words, np.ones((4, 1)))))
attention = layers.MultiHeadAttention(2, 4)
value = ops.convert_to_tensor(np.random.rand(2, 5, 8).astype("float32"))
attention.build(value.shape, value.shape)
attention.set_weights([np.sin(np.arange(w.numpy().size, dtype="float32")).reshape(w.shape) * 0.3 for w in attention.weights])
show("attention", attention(value, value, use_causal_mask=True))
show(
    "ops",
    ops.softmax(value),
    ops.einsum("bij,bkj->bik", value, value),
    ops.top_k(value, 2)[0],
    ops.logsumexp(value, 1),
    ops.cumsum(value, 1),
    ops.segment_sum(value[0], np.array([0, 0, 1, 2, 2]), 3),
)
show(
    "more",
    ops.image.resize(images, (6, 7)),
    ops.linalg.svd(value[0])[1],
    ops.nn.one_hot(words, 20),
    ops.scan(lambda c, v: (c + v, c * v), ops.zeros(8), value[0])[0],
)


class Custom(keras.Model):
    """A training step of one's own, with PyTorch's backward."""

    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(3)

    def call(self, given):
        return self.dense(given)

    def train_step(self, data):
        given, wanted = data
        self.zero_grad()
        loss = self.compute_loss(y=wanted, y_pred=self(given, training=True))
        loss.backward()
        variables = list(self.trainable_weights)
        with torch.no_grad():
            self.optimizer.apply([v.value.grad for v in variables], variables)
        return {"loss": loss}


custom = Custom()
custom.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
custom(x[:1])
custom.set_weights([np.ones((8, 3)) * 0.1, np.zeros(3)])
show("custom", *custom.fit(x, y, epochs=2, batch_size=32, shuffle=False, verbose=0).history["loss"])
