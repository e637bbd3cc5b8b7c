"""Training steps compiled for TPUs, beside KerasHub's: what the compiler says.

    python -m benchmarks.tpu

compiles, on a machine without a TPU and in the environment of `make tpu`, the training
step that `fit` would run: the step of Keras's JAX trainer, with AdamW, clipping,
dropout 0.1 and mixed_bfloat16. **Nothing ran on a TPU.** The time is the compiler's own
estimate (`optimal_seconds`), a rough model that does not see vector work; so the
elementwise operations of the compiled program are counted beside it, those on integers
(random bits, mostly) and those on floats. It is compiled at
`exec_time_optimization_effort=-1.0`, which is less than `fit` would ask for: with more
the compiler takes minutes and its estimates are negative.

MFU is the share of the chip's peak (bfloat16: v5e 197, v6e 918 TFLOP/s) that three
times the products of the forward pass need in the estimated time; nothing that is
computed twice counts twice. A step of 12 layers is derived from steps of 1 and 2
layers, which differ by a layer. KerasHub's side is
`BertMaskedLM` with Keras's AdamW, its own loss and accuracy, at the same rate of
dropout; both score 20 words of 128. Rows may be padded: the mask is an input of every
step, and padding is computed.

Of the attention kernel (`set_fused_attention`) the compiler knows no time. A formula
gives it, which is added to the estimate of the rest: for each call, the longer of its
products at half of the peak (a head of 64 fills half of the 128 lanes that are
multiplied) and its bytes at 0.8 of the bandwidth (v5e 819, v6e 1640 GB/s). It does not
see vector work either. The compiler's own schedule of the kernel is longer: 2,991 and
6,680 cycles, forward and backward, for a row of 512 and two heads, which at 32 x 512
makes 1.24 ms a layer at 1.5 GHz, by the formula 0.92; that was before it summed the
gradient of the biases. The kernel's bytes and operations are in no other column.

The largest batches are of whole steps, which the compiler holds or refuses, as on the
chip; they are searched in steps of 8,192 tokens. Where weights are split, the memory is
that of a whole step too: 1 and 2 layers lie differently there.

With fast dropout the compiler has no estimate of the time: it does not know what the
generator takes, and so the memory of 12 layers cannot be derived either. Memory, bytes
and operations are those of a chip. The last table is what the chips exchange in a
step of 2 layers, by shape and how often. By the estimate 4 and 16 chips that split rows
take the same time: it does not see how far what they exchange goes. A case that the
file has is not compiled again, so that it may be of an earlier state of the package.
"""
