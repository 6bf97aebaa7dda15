"""`info`."""

from pathlib import Path

from ddlcn import DDLCNClassifier
from ddlcn.persistence.model_file import read_format
from tests.cli.conftest import LABELS, Run


def test_json(run: Run, model: Path) -> None:
    facts = run("info", model, "--json").json
    encoder = DDLCNClassifier.load(model).encoder_.to_dict()
    assert {key: facts[key] for key in encoder} == encoder
    assert (facts["classes"], facts["atoms"]) == (list(LABELS), {"sift": [6, 4]})
    assert (facts["n_train"], facts["bytes"], facts["format"]) == (18, model.stat().st_size, read_format(model))
    assert (facts["augmentation"], facts["C"]) == ("none", 1.0)
