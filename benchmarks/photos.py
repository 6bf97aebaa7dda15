"""Colour photographs (flowers17): a fit of 48, and predictions against a frozen network on the same two cores."""

from time import perf_counter

from joblib import Parallel, delayed

from benchmarks.data import task
from benchmarks.measure import Row, race, spell
from ddlcn import DDLCNClassifier
from ddlcn.descriptors.backbone import Backbone

NETWORK = "efficientnet-lite0"


def rows(quick: bool) -> list[Row]:
    """Fit on 8 classes × 6; predict by a model of 17 classes × 20, whose channels have 1,037 atoms each."""
    train, _ = task("flowers17", 6, n_classes=8)
    (fit,) = race(lambda: _fitted(train), repeats=1 if quick else 3, clock=perf_counter)
    what = f"fit on {len(train)} photographs, 8 classes × 6, two cores"
    return [Row(what, spell(fit), "–", fit, "≤ 2.5 s"), _predictions(quick)]


def _predictions(quick: bool) -> Row:
    train, test = task("flowers17", 20)
    model, images = _fitted(train), test.images[: 64 if quick else 320]
    network = Backbone(NETWORK)

    def describe() -> None:
        Parallel(n_jobs=2, prefer="threads")(delayed(network.describe)(image) for image in images)

    ours, peer = race(lambda: model.predict(images), describe, repeats=3, clock=perf_counter)
    sizes = " and ".join(
        f"{len(channel.dictionaries[0]):,}" for channel in model.encoder_.channels if channel.dictionaries
    )
    what = f"predict {len(images)} photographs, {sizes} atoms, two cores / {NETWORK} through onnxruntime, files to maps"
    per_image = (f"{1000 * seconds / len(images):.1f} ms per image" for seconds in (ours, peer))
    return Row(what, *per_image, ours / peer, "≤ 2 ×")


def _fitted(train) -> DDLCNClassifier:
    return DDLCNClassifier(n_jobs=2).fit(train.images, train.labels)
