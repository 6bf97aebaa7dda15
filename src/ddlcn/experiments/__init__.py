"""The paper's experiments: data sets, protocols, a bench that may be killed at any time, tables, figures."""
