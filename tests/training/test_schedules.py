"""The learning rate over the course of training."""

import keras
import numpy as np
import pytest

from keras_bert_lite.training.schedules import LinearWarmup


def rates(schedule, steps):
    return [float(schedule(keras.ops.convert_to_tensor(step))) for step in range(steps)]


def test_rises_then_falls_to_zero_and_stays():
    schedule = LinearWarmup(1.0, steps=6, warmup_steps=2)
    assert rates(schedule, 9) == [0, 0.5, 1, 0.75, 0.5, 0.25, 0, 0, 0]


def test_without_warmup_starts_at_the_peak():
    assert rates(LinearWarmup(2.0, steps=4), 5) == [2, 1.5, 1, 0.5, 0]


def test_may_warm_up_all_the_way():
    assert rates(LinearWarmup(1.0, steps=2, warmup_steps=2), 4) == [0, 0.5, 0, 0]


def test_counts_updates_where_gradients_are_accumulated():
    schedule = LinearWarmup(1.0, steps=3, warmup_steps=1, accumulate=2)
    assert rates(schedule, 8) == [0, 0, 1, 1, 0.5, 0.5, 0, 0]


def test_stays_at_the_peak_until_it_cools_down():
    schedule = LinearWarmup(1.0, steps=9, warmup_steps=2, cooldown_steps=4)
    peak = [0, 0.5, 1, 1, 1, 1]
    falling = [1 - 0.25**0.5, 1 - 0.5**0.5, 1 - 0.75**0.5, 0, 0]
    np.testing.assert_allclose(rates(schedule, 11), peak + falling, rtol=1e-6)


@pytest.mark.parametrize("cooldown_steps", [None, 3])
def test_survives_serialization(cooldown_steps):
    schedule = LinearWarmup(
        3e-5, steps=10, warmup_steps=1, accumulate=2, cooldown_steps=cooldown_steps
    )
    schedules = keras.optimizers.schedules
    twin = schedules.deserialize(schedules.serialize(schedule))
    assert isinstance(twin, LinearWarmup)
    assert twin.get_config() == schedule.get_config()
    assert rates(twin, 25) == rates(schedule, 25)


@pytest.mark.parity
@pytest.mark.parametrize("warmup_steps", [0, 1, 7, 30])
def test_equals_transformers(warmup_steps):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=5e-5)
    linear = transformers.get_linear_schedule_with_warmup(optimizer, warmup_steps, 30)
    ours = rates(LinearWarmup(5e-5, 30, warmup_steps), 40)
    np.testing.assert_allclose(ours, stepped(linear, optimizer), rtol=1e-6, atol=1e-12)


@pytest.mark.parity
@pytest.mark.parametrize(("warmup_steps", "cooldown_steps"), [(0, 30), (7, 10), (1, 1)])
def test_equals_transformers_with_a_cooldown(warmup_steps, cooldown_steps):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=5e-5)
    theirs = transformers.get_wsd_schedule(
        optimizer, warmup_steps, cooldown_steps, 30, decay_type="1-sqrt"
    )
    ours = rates(LinearWarmup(5e-5, 30, warmup_steps, 1, cooldown_steps), 40)
    np.testing.assert_allclose(ours, stepped(theirs, optimizer), rtol=1e-5, atol=1e-11)


def stepped(schedule, optimizer):
    """Returns the rates of a scheduler of torch."""
    found = []
    for _ in range(40):
        found.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    return found


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("peak", 0),
        ("peak", float("nan")),
        ("peak", "1e-5"),
        ("steps", 0),
        ("steps", 2.5),
        ("warmup_steps", -1),
        ("warmup_steps", 11),
        ("accumulate", 0),
        ("cooldown_steps", 0),
        ("cooldown_steps", 11),
    ],
)
def test_refuses_arguments(argument, value):
    arguments = {"peak": 1.0, "steps": 10, argument: value}
    with pytest.raises(ValueError, match=f"`{argument}` must .*Received: .*{value}"):
        LinearWarmup(**arguments)
