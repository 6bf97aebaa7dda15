"""Files that outlive a run: the model file, its schema, and atomic writes."""
