"""An ONNX file read once: run, differentiated, and turned into affine layers for proofs."""
