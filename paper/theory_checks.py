"""The paper's theorems as simulations: each function is the work of one job and returns rows of the table.

Populations are Gaussian, so that everything the theorems speak of (H, h, V) has a closed form. The rates of convergence
are in `theory_rates`, verdicts in `theory`, the picture in `theory_picture`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2

import densdiff as dd
from paper.part import Rows

FloatArray = npt.NDArray[np.float64]
Row = dict[str, Any]

NO_LAM = 1e-12  # relative to (pi sigma^2)^(1/2): as good as none where H is well conditioned
P, Q = dd.datasets.Mixture([1.0], [0.5], [0.09]), dd.datasets.Mixture([1.0], [0.0], [0.04])


@dataclass(frozen=True)
class Basis:
    """Gaussian kernels of one width around fixed centers in d = 1."""

    sigma: float
    centers: tuple[float, ...]

    @property
    def _column(self) -> FloatArray:
        return np.array(self.centers)[:, np.newaxis]  # (b, 1)

    @property
    def scale(self) -> float:
        """What the library's relative lam has to be multiplied with to be the paper's lambda."""
        return math.sqrt(math.pi) * self.sigma

    @property
    def H(self) -> FloatArray:
        """The integrals of psi psi', (b, b)."""
        return self.scale * np.exp(-np.square(self._column - self._column.T) / (4 * self.sigma**2))

    def features(self, rows: FloatArray) -> FloatArray:
        """psi at rows of one column, (k, b)."""
        return np.exp(-np.square(rows - self._column.T) / (2 * self.sigma**2))

    def moments(self, law: dd.datasets.Mixture) -> tuple[FloatArray, FloatArray]:
        """Mean (b,) and covariance (b, b) of psi under a Gaussian."""
        c = self._column
        mean = _smoothed(law, c[:, 0], self.sigma)
        products = np.exp(-np.square(c - c.T) / (4 * self.sigma**2)) * _smoothed(
            law, (c + c.T) / 2, self.sigma / 2**0.5
        )
        return mean, products - np.outer(mean, mean)

    def fit(self, x: FloatArray, y: FloatArray, lam: Any) -> dd.LSDD:
        """The paper's estimator with this basis."""
        model = dd.LSDD(self.sigma, lam, solver="centers", centers=self._column, standardize=False, random_state=0)
        return model.fit(x, y)


def _smoothed(law: dd.datasets.Mixture, at: FloatArray, width: float) -> FloatArray:
    """The mean of exp(-(x - at)^2 / (2 width^2)) under a Gaussian."""
    mean, total = float(law.means[0, 0]), width**2 + float(law.variances[0])
    return np.asarray(width / math.sqrt(total) * np.exp(-np.square(mean - at) / (2 * total)))


BASIS = Basis(0.3, (-0.4, 0.0, 0.4, 0.8))


def row(check: str, case: str, method: str, x: float, value: float, error: float | None, theory: float | None) -> Row:
    """One line of the table; ``theory`` is what the theorem gives for ``value``."""
    return {
        "check": check,
        "case": case,
        "method": method,
        "x": float(x),
        "value": float(value),
        "standard_error": error,
        "theory": theory,
    }


def pick(rows: Rows, check: str, **wanted: Any) -> list[dict[str, Any]]:
    """The rows of one check with these entries, by x."""
    found = [dict(r) for r in rows if r["check"] == check and all(r[key] == value for key, value in wanted.items())]
    return sorted(found, key=lambda r: float(r["x"]))


def averaged(values: npt.ArrayLike) -> tuple[float, float]:
    """Mean and its standard error."""
    values = np.asarray(values, dtype=np.float64)
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))


def normality(n: int, m: int, draws: int, seed: int) -> list[Row]:
    """How theta, scaled by sqrt(nm / (n + m)), spreads around theta*, against the limit's covariance."""
    rng = np.random.default_rng(seed)
    (mean_p, v_p), (mean_q, v_q) = BASIS.moments(P), BASIS.moments(Q)
    H, eta, b = BASIS.H, n / (n + m), len(BASIS.centers)
    target = np.linalg.solve(H, mean_p - mean_q)
    scaled = math.sqrt(n * m / (n + m)) * (
        np.array([BASIS.fit(P.sample(n, rng), Q.sample(m, rng), NO_LAM).theta_ for _ in range(draws)]) - target
    )  # (draws, b)
    rows = []
    for name, share in (("formula", eta), ("formula with n and m exchanged", 1 - eta)):
        root = np.linalg.cholesky((1 - share) * v_p + share * v_q)
        white = np.linalg.solve(root, H @ scaled.T).T  # identity covariance if the formula is right
        off = draws * np.square(white.T @ white / draws - np.eye(b)).sum()  # b (b + 1) on average, if it is
        rows.append(row("normality", "covariance", name, n + m, math.sqrt(off / (b * (b + 1))), None, 1.0))
        if share == eta:
            inside = float(np.mean(np.square(white).sum(axis=1) <= chi2.ppf(0.95, b)))
            error = math.sqrt(0.95 * 0.05 / draws)
            rows.append(row("normality", "coverage", "95 % ellipsoid", n + m, inside, error, 0.95))
    return rows


def regularization(lams: Sequence[float], draws: int, seed: int) -> list[Row]:
    """What regularization takes from beta h'theta + (1 - beta) theta'H theta, against the first order in lambda."""
    rng = np.random.default_rng(seed)
    H, betas = BASIS.H, (0, 1, 2)
    bias, first = np.empty((2, draws, len(lams), len(betas)))
    for i in range(draws):
        x, y = P.sample(150, rng), Q.sample(50, rng)
        h = BASIS.features(x).mean(axis=0) - BASIS.features(y).mean(axis=0)
        theta = np.linalg.solve(H, h)
        for j, lam in enumerate(lams):
            found = BASIS.fit(x, y, lam).l2_distance().estimates
            one, other = (float(found[name] or 0.0) for name in ("h_theta", "theta_H_theta"))
            bias[i, j] = [beta * one + (1 - beta) * other - h @ theta for beta in betas]
            first[i, j] = [-lam * BASIS.scale * (2 - beta) * theta @ theta for beta in betas]
    return [
        row(
            "regularization",
            "bias",
            f"beta = {beta}",
            lam * BASIS.scale,
            *averaged(bias[:, j, k]),
            first[:, j, k].mean(),
        )
        for k, beta in enumerate(betas)
        for j, lam in enumerate(lams)
    ]


def bias(n: int, m: int, draws: int, seed: int) -> list[Row]:
    """By how much h'H^-1 h of samples exceeds that of the populations, before and after the paper's correction."""
    rng = np.random.default_rng(seed)
    (mean_p, v_p), (mean_q, v_q) = BASIS.moments(P), BASIS.moments(Q)
    theta = np.linalg.solve(BASIS.H, mean_p - mean_q)
    excess: dict[str, list[float]] = {"regularization_corrected": [], "bias_corrected": []}
    for _ in range(draws):
        x, y = P.sample(n, rng), Q.sample(m, rng)
        found = BASIS.fit(x, y, NO_LAM).l2_distance().estimates
        h = BASIS.features(x).mean(axis=0) - BASIS.features(y).mean(axis=0)
        for name, values in excess.items():
            # less 2 theta*'(h - E h), which is 0 on average and most of the noise; the target is theta*'E h
            values.append(float(found[name] or 0.0) + float(theta @ (mean_p - mean_q - 2 * h)))
    rows = []
    # The paper's correction divides its covariances by n and not by n - 1, which leaves a trace of the next order.
    for power, (name, values) in enumerate(excess.items(), 1):
        trace = float(np.trace(np.linalg.solve(BASIS.H, v_p / n**power + v_q / m**power)))
        rows.append(row("bias", "excess", name, n + m, *averaged(values), trace))
    return rows


def positive_part(sigma: float, draws: int, seed: int) -> list[Row]:
    """Error and spread of the distance's estimates at one kernel width, 48 centers .05 apart, lam cross-validated."""
    rng = np.random.default_rng(seed)
    basis, n = Basis(sigma, tuple(np.linspace(-1.0, 1.35, 48))), 100
    values: dict[str, list[float]] = {}
    for _ in range(draws):
        pair = dd.datasets.gaussian_shift(0.3, n=n, random_state=rng)
        found = basis.fit(pair.x, pair.y, "cv").l2_distance().estimates
        spread = sum(np.cov(basis.features(rows).T, ddof=0) / n for rows in (pair.x, pair.y))
        plain = float(found["regularization_corrected"] or 0.0)
        literal = max(0.0, plain - float(np.trace(np.linalg.solve(basis.H, spread))))
        for name in ("regularization_corrected", "positive_part", "debiased"):
            values.setdefault(name, []).append(float(found[name] or 0.0))
        values.setdefault("positive_part by a plain inverse", []).append(literal)
    rows = [row("positive part", "condition of H", "", sigma, np.linalg.cond(basis.H), None, None)]
    for name, each in values.items():
        squared, error = averaged(np.square(np.array(each) - pair.l2))
        rmse = math.sqrt(squared)
        rows.append(row("positive part", "error", name, sigma, rmse, error / (2 * rmse), 0.0))
        rows.append(row("positive part", "spread", name, sigma, float(np.std(each, ddof=1)), None, None))
    return rows


def lower_bound(g: Sequence[tuple[float, dd.datasets.Mixture]], pair: dd.datasets.TwoSamples) -> float:
    """2 (E_p g - E_q g) - |g|^2 of a weighted sum of densities, in closed form."""
    gain = sum(a * (part.inner(pair.p) - part.inner(pair.q)) for a, part in g)
    return 2 * gain - sum(a * b * part.inner(other) for a, part in g for b, other in g)


def duality_exact(seed: int) -> list[Row]:
    """The lower bound at multiples of f and at random functions."""
    rng = np.random.default_rng(seed)
    pair = dd.datasets.gaussian_shift(0.5, n=1, random_state=0)
    rows = []
    for c in np.linspace(0.0, 2.0, 9):
        value = lower_bound([(c, pair.p), (-c, pair.q)], pair)
        rows.append(row("duality", "multiple of f", "c f", c, value, None, pair.l2))
    for i in range(50):
        parts = [dd.datasets.Mixture([1.0], [rng.normal(0.25, 0.5)], [rng.uniform(0.02, 0.2)]) for _ in range(4)]
        near = [(1.0, pair.p), (-1.0, pair.q)] if i % 2 else []  # half of them wander off from f
        g = near + [(float(a), part) for a, part in zip(rng.normal(0.0, 0.5, 4), parts, strict=True)]
        rows.append(row("duality", "random g", "sum of Gaussians", i, lower_bound(g, pair), None, pair.l2))
    return rows


def duality_lsdd(n: int, draws: int, seed: int) -> list[Row]:
    """The lower bound at LSDD's estimate: with the true expectations, on fresh rows, and on the rows of the fit."""
    rng = np.random.default_rng(seed)
    points = np.linspace(-2.5, 3.0, 1101)
    step = points[1] - points[0]
    values: dict[str, list[float]] = {}
    for _ in range(draws):
        pair = dd.datasets.gaussian_shift(0.5, n=n, random_state=rng)
        fresh = dd.datasets.gaussian_shift(0.5, n=2000, random_state=rng)
        model = dd.LSDD(random_state=0).fit(pair.x, pair.y)
        g = model.predict(points)
        norm = step * float(g @ g)
        gain = float(model.predict(fresh.x).mean() - model.predict(fresh.y).mean())
        own = model.l2_distance().estimates["regularization_corrected"]
        values.setdefault("true expectations", []).append(2 * step * float(g @ pair.difference(points)) - norm)
        values.setdefault("fresh rows", []).append(2 * gain - norm)
        values.setdefault("rows of the fit", []).append(float(own or 0.0))
    return [row("duality", "LSDD", name, n, *averaged(each), pair.l2) for name, each in values.items()]
