"""From strings to vectors on a CPU: this package and its peers, in one run.

    python -m benchmarks.inference --data DATA

CTranslate2, fastembed and ZeroModels have environments of their own, which `make
bench` makes; a side whose environment is missing is left out, and the record says so.
fastembed runs this model's weights, in a file of ONNX that torch exports.

DATA holds `glue/SST-2/dev.tsv` and `squad/dev-v1.1.json`. Each side is a process of
its own that lives through a workload; the sides take turns on the same texts, since
the speed of a shared machine swings, and what counts is the median over the rounds
of the ratio of a side's seconds to this package's: above 1 where this package is
faster. `benchmarks/results/inference.json` holds every time that was taken;
`python -m benchmarks.inference.report` makes the tables and the plot from it.
"""
