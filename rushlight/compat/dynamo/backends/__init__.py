"""`torch._dynamo.backends`: the registry of back-ends, and back-ends that are made of functions of graphs."""
