"""Training on one Dask worker process and on two: `python -m benchmarks.workers DATA [IMAGES_PER_CLASS]`.

Each worker has one thread. They are started, and have compiled and imported everything, before time counts.
"""

from __future__ import annotations

import sys
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
from distributed import Client, LocalCluster

from ddlcn import DDLCNClassifier, load_images


def main(data: str, per_class: int) -> None:
    """Print seconds by stage, and the ratio."""
    images, _ = load_images(data).split(per_class, seed=0)
    seconds, answers = [], []
    for n_workers in (1, 2):
        with (
            LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
            TemporaryDirectory() as folder,
        ):
            few = images.take(np.arange(0, len(images), max(1, len(images) // 64)))
            client.wait_for_workers(n_workers)
            DDLCNClassifier(atoms_per_class=2, work_folder=f"{folder}/warm").fit(few.images, few.target)
            start = perf_counter()
            model = DDLCNClassifier(work_folder=f"{folder}/work").fit(images.images, images.target)
            seconds.append(perf_counter() - start)
            answers.append(model.svm_.coef_)
            stages = ", ".join(f"{stage} {spent:.1f} s" for stage, spent in model.timings_.items())
            print(f"{n_workers} worker(s), {len(images)} images: {seconds[-1]:.1f} s ({stages})", flush=True)
    print(f"{seconds[0] / seconds[1]:.2f} times as fast; same bits: {np.array_equal(*answers)}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20)
