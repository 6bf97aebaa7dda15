"""Gibbs draws against the posterior: enumerated where it is discrete, in closed form where Gaussian."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from ddlcn_lab.kernels.gibbs import draw_codes
from ddlcn_lab.methods.bayesian import Factors

pytest.importorskip("dictlearn")


def test_draws_of_codes():
    rng = np.random.default_rng(0)
    D, y = rng.normal(size=(3, 4)), rng.normal(size=4)
    pi, noise, spread = np.array([0.3, 0.6, 0.5]), 1.5, 0.7
    # the weights of used atoms integrated out, y is Gaussian with covariance I/γ + D_zᵀD_z/λ
    supports = np.array(list(product([0, 1], repeat=3)))
    weights = np.array(
        [
            np.prod(np.where(z, pi, 1 - pi))
            * multivariate_normal.pdf(y, cov=np.eye(4) / noise + D[z == 1].T @ D[z == 1] / spread)
            for z in supports
        ]
    )
    expected = weights @ supports / weights.sum()

    chains = 20_000  # one per row
    codes = np.zeros((chains, 3))
    shared = (np.tile(value, (chains, *[1] * np.ndim(value))) for value in (D @ y, np.log(pi / (1 - pi))))
    correlations, odds = shared
    for _ in range(30):
        random = rng.logistic(size=codes.shape), rng.standard_normal(codes.shape)
        draw_codes(D @ D.T, correlations, odds, np.full(chains, noise), np.full(chains, spread), *random, codes)
    np.testing.assert_allclose((codes != 0).mean(axis=0), expected, atol=0.015)  # four standard errors

    full = (codes != 0).all(axis=1)  # given that all are used, weights are those of Bayesian regression
    cov = np.linalg.inv(noise * D @ D.T + spread * np.eye(3))
    far = codes[full].mean(axis=0) - cov @ (noise * D @ y)
    assert np.all(np.abs(far) < 4.5 * np.sqrt(np.diag(cov) / full.sum()))
    np.testing.assert_allclose(np.cov(codes[full].T), cov, atol=0.1 * cov.max())


def test_draws_of_atoms():
    rng = np.random.default_rng(0)
    Y, a = rng.normal(size=(6, 2)), rng.normal(size=(6, 1))
    model = Factors(Y, np.zeros((1, 2)), a, np.array([0, 0, 0, 1, 1, 1]))
    model.noise = np.array([2.0, 0.5])
    draws = []
    for _ in range(20_000):
        model._draw_atoms(rng)
        draws.append(model.atoms[0].copy())
    gamma = np.repeat(model.noise, 3)
    precision = 2 + np.sum(gamma * a[:, 0] ** 2)  # d = 2 is the prior's
    np.testing.assert_allclose(np.mean(draws, axis=0), (gamma * a[:, 0]) @ Y / precision, atol=0.03)
    np.testing.assert_allclose(np.var(draws, axis=0), 1 / precision, rtol=0.05)


def test_precisions():
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1], 2000)
    codes = rng.normal(size=(4000, 1)) * np.where(classes, 0.5, 2.0)[:, None]  # λ = 0.25 and 4
    Y = codes @ np.ones((1, 3)) + rng.normal(size=(4000, 3)) * np.where(classes, 0.1, 1.0)[:, None]
    model = Factors(Y, np.ones((1, 3)), codes, classes)
    model._draw_precisions(rng)
    np.testing.assert_allclose(model.noise, [1, 100], rtol=0.1)
    np.testing.assert_allclose(model.spread, [0.25, 4], rtol=0.15)
