"""A model on the web: a page to look at its answers with, and a JSON API (extra `serve`).

client ──► Patient   an end to every wait for a client              protocol.py
       ──► Guard     who may ask; how large, how long, how many     guard.py
       ──► routes    what can be asked                              api.py, answers.py
       ──► Workers   a few threads, a short queue, else 503         workers.py
       ──► Judge     the model's answers                            judge.py
"""

from ddlcn.serve.api import create_app
from ddlcn.serve.limits import Limits
from ddlcn.serve.server import serve

__all__ = ["Limits", "create_app", "serve"]
