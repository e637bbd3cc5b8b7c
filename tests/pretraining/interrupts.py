import keras


def _as_ctrl_c():
    raise KeyboardInterrupt


class Interrupts(keras.callbacks.Callback):
    """Ends a run behind so many steps, as Ctrl-C does, or by calling `end`."""

    def __init__(self, steps, end=_as_ctrl_c):
        super().__init__()
        self.steps, self.end = steps, end

    def on_train_batch_end(self, batch, logs=None):
        # The optimizer does not know its step within an epoch under JAX.
        self.steps -= 1
        if not self.steps:
            self.end()
