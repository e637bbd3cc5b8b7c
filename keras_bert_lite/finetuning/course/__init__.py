"""The course of a fine-tuning: its plan, what trains, what is kept.

`run` puts the others in order: `plan` (epochs, rate, steps) and `budget` (how many
steps there is time for), `trainer` (warm start, `fit`, going on after a kill),
`contrast` (pairs of few labelled texts), `selection` (scores during training, the best
weights) and `calibration` (the temperature of probabilities).
"""
