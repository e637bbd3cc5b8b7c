"""From text files to an encoder: vocabulary, data, pretraining, distillation.

Each function reads files and writes files; `kbl.pretraining` and `kbl.distillation`
export them beside the functions on models that they call.
"""
