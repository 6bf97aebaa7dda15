import numpy as np
import pytest

from ddlcn_lab.kernels.proximal import sweep_columns
from ddlcn_lab.methods.proximal import ProximalDictionary

pytest.importorskip("dictlearn")
rng = np.random.default_rng(0)


def test_step_by_definition():
    """An entry is the best of zero and of the minimum of the bound that touches the objective."""
    D, y = rng.normal(size=(5, 8)), rng.normal(size=8)
    x = rng.normal(size=5) * (rng.uniform(size=5) < 0.5)
    codes = x[None].copy()
    sweep_columns(D @ D.T, y[None] @ D.T, 0.3, 0.4, codes)
    for j in range(5):
        step = 1.01 * D[j] @ D[j]
        slope = D[j] @ (x @ D - y)

        def bound(new, old=x[j], slope=slope, step=step):
            return slope * (new - old) + 0.5 * step * (new - old) ** 2 + 0.3 * (new != 0)

        x[j] = min((0.0, *np.linspace(-0.4, 0.4, 80_001)), key=bound)
    np.testing.assert_allclose(codes[0], x, atol=1e-4)


@pytest.mark.parametrize("sparsity", [1e-4, 1e-2])
def test_every_block_lowers_the_objective(three_digits, sparsity):
    Y, targets = three_digits
    model = ProximalDictionary(4, sparsity, passes=5).fit(Y, targets)
    assert (np.diff(model.objective_path_) <= 1e-12).all()
    assert np.diff(model.objective_path_)[0] < 0
    H, codes = np.eye(3)[targets], rng.normal(size=(len(Y), 12)) * (rng.uniform(size=(len(Y), 12)) < 0.3)
    path = [model.objective(Y, H, codes)]
    for update in (lambda: model._update_codes(Y, H, codes), lambda: model._update_atoms(Y, codes)):
        update()
        path.append(model.objective(Y, H, codes))
    assert (np.diff(path) < 0).all()
    np.testing.assert_allclose(np.linalg.norm(model.atoms_, axis=1), 1)
