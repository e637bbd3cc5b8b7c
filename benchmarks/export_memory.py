"""Memory that an export takes.

Makes an encoder of random weights in the shape of a published one in a fresh process,
exports it, and prints the most memory of the process before the export and until its
end, and the bytes written.

    python -m benchmarks.export_memory --name bert_base_uncased --form onnx_int8
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.memory import peak_memory

MIB = 1 << 20


def text_model(name):
    import keras_bert_lite as kbl

    encoder = kbl.encoder(kbl.EncoderConfig.named(name))
    preprocessor = kbl.load_preprocessor("bert_mini_books", sequence_length=128)
    return kbl.with_text(encoder, preprocessor)


def onnx(model, folder, int8=False):
    from keras_bert_lite.serving import export_onnx

    return export_onnx(model, folder / "model.onnx", int8=int8)


def openvino(model, folder):
    from keras_bert_lite.serving import export_openvino

    return export_openvino(model, folder / "model")


def saved_model(model, folder):
    import keras_bert_lite as kbl

    return kbl.export_saved_model(model, folder / "model")


FORMS = {
    "onnx": onnx,
    "onnx_int8": lambda model, folder: onnx(model, folder, int8=True),
    "openvino": openvino,
    "saved_model": saved_model,
}


def size(path):
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(x.stat().st_size for x in files if x.is_file())


def measure(name, form):
    model = text_model(name)
    before = peak_memory()
    with tempfile.TemporaryDirectory() as folder:
        written = size(FORMS[form](model, Path(folder)))
    print(before, peak_memory(), written)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--name", default="bert_base_uncased")
    parser.add_argument("--form", nargs="+", choices=FORMS, default=[*FORMS])
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        measure(options.name, options.form[0])
        return
    for form in options.form:
        command = [sys.executable, "-m", "benchmarks.export_memory", "--child"]
        command += ["--name", options.name, "--form", form]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
        before, peak, written = (int(x) / MIB for x in output.split()[-3:])
        print(
            f"{options.name}, {form}: {peak:,.0f} MiB at most, {before:,.0f} before "
            f"the export; {written:,.0f} MiB written"
        )


if __name__ == "__main__":
    main()
