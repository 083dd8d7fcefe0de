"""An exported model behind TensorFlow Serving's two interfaces, REST and gRPC."""
