"""Export to LiteRT, ONNX Runtime and OpenVINO, and models that run the files."""
