"""Files for other engines (LiteRT, ONNX Runtime), and models that run them."""
