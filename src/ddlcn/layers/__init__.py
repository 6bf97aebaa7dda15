"""The paper's layers, a module each, in the order of the flow:
sift, dictionary, coding, network, pyramid, svm."""
