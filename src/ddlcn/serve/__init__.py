"""A model as a web page and a JSON API (extra `serve`).

A request passes through these modules:

    client ──► protocol.py    a time limit for every wait
           ──► guard.py       who may send requests; how large, how slow, how many
           ──► api.py         the routes; answers.py: what they answer
           ──► workers.py     a few threads and a short queue, else 503
           ──► predictor.py   the model
"""

from ddlcn.serve.api import create_app
from ddlcn.serve.limits import Limits
from ddlcn.serve.server import serve

__all__ = ["Limits", "create_app", "serve"]
