"""Export to other runtimes (LiteRT, ONNX Runtime), and models that run the files."""
