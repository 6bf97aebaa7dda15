"""Recipes: what is good for one table and not for every user, written over public parts of ddlcn."""
