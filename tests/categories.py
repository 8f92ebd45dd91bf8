"""Tables with categories for tests, and LSDD of them by loops."""

import itertools

import numpy as np
from hypothesis import strategies as st

import densdiff as dd
from densdiff.core.kernel import Categories

SIGMA, LAM = 0.7, 0.05
LETTERS = np.array(list("abcde"))


def mixed(seed, n=40, shares=(0.5, 0.3, 0.2), shift=0.0, flag=0.4):
    random = np.random.default_rng([seed, n])
    return {
        "size": random.normal(size=n) + shift,
        "letter": random.choice(LETTERS[: len(shares)], n, p=shares),
        "flag": random.random(n) < flag,
    }


def taken(table, rows):
    return {name: np.asarray(values)[rows] for name, values in table.items()}


def asked(X, Y, **parameters):
    return dd.two_sample_test(X, Y, **{"n_permutations": 99, "random_state": 0} | parameters)


@st.composite
def categories(draw):
    """Some columns of 2 to 5 levels with either kind of kernel, and a sigma."""
    levels = np.array(draw(st.lists(st.integers(2, 5), min_size=1, max_size=3)))
    sigma = draw(st.sampled_from([0.1, 0.7, 3.0]))
    if draw(st.booleans()):
        return Categories(levels, draw(st.floats(0, 0.85))), sigma
    apart = draw(st.lists(st.floats(0.5, 9), min_size=len(levels), max_size=len(levels)))
    return Categories(levels, apart=np.array(apart)), sigma


def codes_of(random, levels, n):
    return np.column_stack([random.integers(0, k, n) for k in levels]).astype(float)


def slow_ratios(of, sigma):
    """r of each column, from the definition."""
    if of.apart is not None:
        return [np.exp(-a / (2 * sigma**2)) for a in of.apart]
    t = of.smoothing
    return [min(0.9, t / ((1 - t) * (k - 1))) for k in of.levels]


def slow_factor(a, b, ratios):
    return np.array(
        [[np.prod([1 if u == v else r for u, v, r in zip(x, y, ratios, strict=True)]) for y in b] for x in a]
    )


def all_levels(levels):
    return np.array(list(itertools.product(*map(range, levels))), dtype=float)


class Twin:
    """E1 to E8 of two tables by loops, from the definition of psi, with H summed over levels."""

    def __init__(self, X, Y, centers, ratios, sigma=SIGMA, lam=LAM):
        self.names = [name for name in X if np.asarray(X[name]).dtype.kind not in "f"]
        self.levels = {name: sorted({str(v) for table in (X, Y) for v in table[name]}) for name in self.names}
        self.ratios = [ratios(len(self.levels[name])) for name in self.names]
        self.numeric = [name for name in X if name not in self.names]
        pooled = np.empty((len(self.numeric), len(X[next(iter(X))]) + len(Y[next(iter(Y))])))
        for row, name in zip(pooled, self.numeric, strict=True):
            row[:] = np.concatenate([X[name], Y[name]])
        self.mean, self.deviation, self.sigma = pooled.mean(axis=1), pooled.std(axis=1), sigma
        self.centers = self.inner(centers)
        d = len(self.numeric)
        at_levels = slow_factor(self.centers[1], all_levels([len(of) for of in self.levels.values()]), self.ratios)
        s = (np.pi * sigma**2) ** (d / 2) * np.prod(
            [1 + (len(of) - 1) * r**2 for of, r in zip(self.levels.values(), self.ratios, strict=True)]
        )
        b = len(self.centers[0])
        H = np.empty((b, b))
        for i, j in itertools.product(range(b), repeat=2):
            gap = np.square(self.centers[0][i] - self.centers[0][j]).sum()
            H[i, j] = (np.pi * sigma**2) ** (d / 2) * np.exp(-gap / (4 * sigma**2)) * (at_levels[i] @ at_levels[j])
        psi_x, psi_y = self.psi(X), self.psi(Y)
        h = psi_x.mean(axis=0) - psi_y.mean(axis=0)
        inverse = np.linalg.inv(H + lam * s * np.eye(b))
        theta = inverse @ h
        S = np.cov(psi_x.T) / len(psi_x) + np.cov(psi_y.T) / len(psi_y)
        V = np.cov(psi_x.T, ddof=0) / len(psi_x) + np.cov(psi_y.T, ddof=0) / len(psi_y)
        volume = np.prod(self.deviation)
        corrected = 2 * h @ theta - theta @ H @ theta
        M = inverse + lam * s * inverse @ inverse
        bias_corrected = corrected - np.trace(np.linalg.inv(H) @ V)
        self.theta = theta / volume
        found = {
            "h_theta": h @ theta,
            "theta_H_theta": theta @ H @ theta,
            "regularization_corrected": corrected,
            "debiased": corrected - np.trace(M @ S),
            "bias_corrected": bias_corrected,
            "positive_part": max(0.0, bias_corrected),
        }
        self.estimates = {name: value / volume for name, value in found.items()}

    def inner(self, table):
        codes = np.array([[self.levels[name].index(str(v)) for v in table[name]] for name in self.names], dtype=float).T
        numbers = np.empty((len(codes), len(self.numeric)))
        for column, name in zip(numbers.T, self.numeric, strict=True):
            column[:] = table[name]
        return (numbers - self.mean) / self.deviation, codes

    def psi(self, table):
        numbers, codes = self.inner(table)
        gaps = np.square(numbers[:, None] - self.centers[0]).sum(axis=2)
        return np.exp(-gaps / (2 * self.sigma**2)) * slow_factor(codes, self.centers[1], self.ratios)


def fixed(centers=None, **parameters):
    return dd.LSDD(SIGMA, LAM, **{"solver": "centers", "centers": centers, "random_state": 0} | parameters)


def mass_and_norm(model, X, Y):
    """The integral of f and of its square over numbers x levels, for tables of `mixed`."""
    reach = np.abs(np.concatenate([X["size"], Y["size"]])).max() + 14 * SIGMA
    grid = np.linspace(-reach, reach, 3001)
    mass = norm = 0.0
    for letter, flag in itertools.product("abc", [False, True]):
        f = model.predict({"size": grid, "letter": [letter] * len(grid), "flag": [flag] * len(grid)})
        mass += f.sum() * (grid[1] - grid[0])
        norm += (f**2).sum() * (grid[1] - grid[0])
    return mass, norm
