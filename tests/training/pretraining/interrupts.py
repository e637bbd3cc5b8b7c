import keras


class Interrupts(keras.callbacks.Callback):
    """Ends a run in the middle of an epoch, as Ctrl-C does."""

    def __init__(self, steps):
        super().__init__()
        self.steps = steps

    def on_train_batch_end(self, batch, logs=None):
        if self.model.optimizer.iterations == self.steps:
            raise KeyboardInterrupt
