"""What several test files share: comparing results, compiled functions against eager mode, ONNX files, programs in fresh interpreters."""
