"""Trains with the attention kernel's masks on one device, 8 x 1 and 4 x 2."""

import json

from keras_bert_lite.distribution import setup
from tests.training.test_fused_attention import trained


def main():
    losses = [trained(vocabulary_size=72)[1]]
    for model in (1, 2):
        setup(model=model)
        losses.append(trained(vocabulary_size=72)[1])
    print(json.dumps(losses))


if __name__ == "__main__":
    main()
