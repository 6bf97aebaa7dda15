"""The laboratory: data sets, protocols, other methods, recipes, a resumable bench, tables and figures."""
