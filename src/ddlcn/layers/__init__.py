"""The paper's layers, one module each, in the order of the flow: sift, dictionary, coding, pooling."""
