"""Golden values of E16, numbers x levels, computed with 50 digits by sums over all subsets of columns and quadrature.

Written from the equations alone, with nothing of the library imported. `python make_mixed.py` writes `mixed.json`
beside this file. Inputs are floats taken over bit for bit; outputs are strings of 30 digits.
"""

import json
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import mpmath as mp  # type: ignore[import-untyped]

DIGITS = 30
mp.mp.dps = 50

Number = Any  # mpf
MIXED_FILE = Path(__file__).with_name("mixed.json")
RATIO = 0.46415888336127786  # of neighbouring lams, 10^(-1/3) as a double


class Lehmer:
    """The multiplicative generator 48271 mod 2^31 - 1: the same inputs on every machine and version."""

    def __init__(self, seed: int) -> None:
        self.state = seed * 1234567

    def uniform(self, low: float, high: float) -> float:
        """Return one number between low and high with 6 decimals."""
        self.state = self.state * 48271 % 2147483647
        return round(low + (high - low) * self.state / 2147483647, 6)

    def rows(self, count: int, d: int, levels: list[int], shift: float) -> list[list[float]]:
        """Return rows of d numbers around the shift and a code of each column of categories."""
        return [
            [shift + self.uniform(-2.0, 2.0) for _ in range(d)]
            + [float(int(self.uniform(0.0, k - 1e-6))) for k in levels]
            for _ in range(count)
        ]


@cache
def filter_nodes(lam: Number) -> list[tuple[Number, Number]]:
    """Return frequencies w > 0 at sigma = 1 and F there.

    Sums over an even grid converge like the kernel at distance 2 pi / spacing = 209, where it is below exp(-150):
    F's poles are at least 0.7 off the axis. Beyond w = 17 F is below 1e-55.
    """
    nodes = [mp.mpf(3) * i / 100 for i in range(1, 567)]
    return [(w, 1 / (1 + lam * mp.exp(w**2 / 2))) for w in nodes]


@cache
def radial_kernels(d: int, r: Number, lam: Number) -> tuple[Number, Number]:
    """Return the inverse transforms of F and F^2 at sigma = 1 in d = 0, 1 or 3 columns."""
    peak = 1 / (1 + lam)
    if d == 0:
        return peak, peak**2
    step = mp.mpf(3) / 100
    totals = []
    for power in (1, 2):
        if d == 1:
            terms = [F**power * mp.cos(w * r) for w, F in filter_nodes(lam)]
            totals.append((mp.fsum(terms) + peak**power / 2) * step / mp.pi)
        else:  # minus the derivative by r of the kernel in one column, over 2 pi r
            terms = [F**power * w**2 * mp.sinc(w * r) for w, F in filter_nodes(lam)]
            totals.append(mp.fsum(terms) * step / (2 * mp.pi**2))
    return totals[0], totals[1]


def gaussian_sums(d: int, r: Number, lam: Number) -> tuple[Number, Number]:
    """Return the same transforms for lam above 1, as sums of Gaussians."""
    terms = range(1, int(120 / mp.log(lam)) + 4)
    gaussians = [(2 * mp.pi * k) ** (-mp.mpf(d) / 2) * mp.exp(-(r**2) / (2 * k)) for k in terms]
    plain = -mp.fsum((-1 / lam) ** k * g for k, g in zip(terms, gaussians, strict=True))
    squared = mp.fsum((k - 1) * (-1 / lam) ** k * g for k, g in zip(terms, gaussians, strict=True))
    return plain, squared


def kernels(a: list[Any], b: list[Any], case: dict[str, Any], sigma: Number, lam: Number) -> tuple[Number, Number]:
    """Return K of F and of F^2 between two rows: a sum over the subsets of columns of categories that take part."""
    levels, steps = case["levels"], case["steps"]
    d = len(a) - len(levels)
    r = mp.sqrt(mp.fsum((p - q) ** 2 for p, q in zip(a[:d], b[:d], strict=True))) / sigma
    plain = squared = mp.mpf(0)
    for subset in product([False, True], repeat=len(levels)):
        factor, t = mp.mpf(1) / sigma**d, 0
        for j, takes_part in enumerate(subset):
            share = mp.mpf(1) / levels[j]
            factor *= (a[d + j] == b[d + j]) - share if takes_part else share
            t += steps[j] if takes_part else 0
        of_numbers = radial_kernels(d, r, lam / mp.mpf(RATIO) ** t)
        plain += factor * of_numbers[0]
        squared += factor * of_numbers[1]
    return plain, squared


def check_gaussians(case: dict[str, Any], lam: Number) -> None:
    """Raise unless quadrature and sums of Gaussians agree for the largest lam of a case."""
    largest = lam / mp.mpf(RATIO) ** sum(case["steps"])
    d = len(case["X"][0]) - len(case["levels"])
    if largest < 1.5:
        return
    for r in (mp.mpf(0), mp.mpf("0.7"), mp.mpf(3)) if d else (mp.mpf(0),):
        both = zip(radial_kernels(d, r, largest), gaussian_sums(d, r, largest), strict=True)
        if any(abs(a - b) > mp.mpf(10) ** -40 * abs(b) for a, b in both):
            raise ArithmeticError("quadrature and sums of Gaussians differ")


def check_minimum(case: dict[str, Any], lam: Number) -> None:
    """Raise unless f solves the penalized problem among all combinations of levels, (K + lambda) alpha = weights."""
    cells = [list(map(mp.mpf, codes)) for codes in product(*map(range, case["levels"]))]
    scale = lam
    similar = []
    for k, step in zip(case["levels"], case["steps"], strict=True):
        rho = mp.mpf(RATIO) ** step
        similar.append((1 - rho) / (1 + (k - 1) * rho))
        scale *= 1 + (k - 1) * similar[-1]
    K = mp.matrix(len(cells))
    for i, j in product(range(len(cells)), repeat=2):
        K[i, j] = mp.fprod(1 if p == q else s for p, q, s in zip(cells[i], cells[j], similar, strict=True))
    weights = mp.matrix([mp.fsum(w for w, row in weighted_rows(case) if row == cell) for cell in cells])
    solved = K * mp.lu_solve(K + scale * mp.eye(len(cells)), weights)
    for cell, value in zip(cells, solved, strict=True):
        f = mp.fsum(w * kernels(cell, row, case, mp.mpf(1), lam)[0] for w, row in weighted_rows(case))
        if abs(f - value) > mp.mpf(10) ** -40:
            raise ArithmeticError("E16 and the penalized problem differ")


def weighted_rows(case: dict[str, Any]) -> list[tuple[Number, list[Any]]]:
    """Return the rows of both samples with 1/n and -1/m."""
    n, m = len(case["X"]), len(case["Y"])
    return [(mp.mpf(1) / n, row) for row in case["X"]] + [(-mp.mpf(1) / m, row) for row in case["Y"]]


def estimates(case: dict[str, Any], sigma: Number, lam: Number) -> dict[str, Number]:
    """Return the twins of E4 to E7 as sums over all pairs."""
    plain = squared = mp.mpf(0)
    blocks = {}  # of the U-statistic
    for s, t in product("XY", repeat=2):
        pairs = [
            kernels(a, b, case, sigma, lam)
            for (i, a), (j, b) in product(enumerate(case[s]), enumerate(case[t]))
            if s != t or i != j
        ]
        blocks[s + t] = mp.fsum(2 * p - q for p, q in pairs) / len(pairs)
    for (v, a), (w, b) in product(weighted_rows(case), repeat=2):
        p, q = kernels(a, b, case, sigma, lam)
        plain, squared = plain + v * w * p, squared + v * w * q
    return {
        "h_theta": plain,
        "theta_H_theta": squared,
        "regularization_corrected": 2 * plain - squared,
        "debiased": blocks["XX"] + blocks["YY"] - blocks["XY"] - blocks["YX"],
    }


def fold_scores(case: dict[str, Any], sigma: Number, lam: Number) -> list[Number]:
    """Return E14 of every fold; row i of a sample is in fold i mod 3."""
    scores = []
    for fold in range(3):
        parts = []
        for held_out in (False, True):
            samples = {s: [row for i, row in enumerate(case[s]) if (i % 3 == fold) == held_out] for s in "XY"}
            parts.append(weighted_rows(samples))
        train, held = parts
        within = mp.fsum(v * w * kernels(a, b, case, sigma, lam)[1] for (v, a), (w, b) in product(train, train))
        across = mp.fsum(v * w * kernels(a, b, case, sigma, lam)[0] for (v, a), (w, b) in product(train, held))
        scores.append(within - 2 * across)
    return scores


def all_inputs() -> list[dict[str, Any]]:
    """Return the cases: numbers in 0, 1 and 3 columns, steps that coincide, that are 0, and that reach lam = 1e7."""
    cases = []
    for seed, (name, d, levels, steps, grid) in enumerate(
        [
            ("levels_only", 0, [2, 3], [1, 3], [(1.0, 0.1), (1.0, 0.001)]),
            ("exact_agreement", 1, [2, 3], [0, 0], [(0.6, 0.01)]),
            ("line", 1, [2, 3], [1, 2], [(0.5, 0.1), (0.8, 0.001)]),
            ("line_alike", 1, [3, 3, 3], [2, 2, 2], [(0.7, 0.02)]),
            ("line_many_levels", 1, [2, 1000], [2, 28], [(0.7, 0.01)]),
            ("space", 3, [4, 2], [3, 0], [(0.9, 0.1), (1.2, 0.004)]),
        ],
        start=21,
    ):
        draw = Lehmer(seed)
        X, Y, points = draw.rows(5, d, levels, 0.0), draw.rows(4, d, levels, 0.5), draw.rows(3, d, levels, 0.2)
        cases.append({"name": name, "levels": levels, "steps": steps, "X": X, "Y": Y, "points": points, "grid": grid})
    return cases


def solve_case(inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs of a case with the values of its models in place of its grid."""
    exact = {key: [[mp.mpf(v) for v in row] for row in inputs[key]] for key in ("X", "Y", "points")}
    case = {**inputs, **exact}
    models = []
    for sigma, lam in ((mp.mpf(s), mp.mpf(v)) for s, v in inputs["grid"]):
        check_gaussians(case, lam)
        if len(case["X"][0]) == len(case["levels"]):
            check_minimum(case, lam)
        f = [
            mp.fsum(w * kernels(p, row, case, sigma, lam)[0] for w, row in weighted_rows(case)) for p in case["points"]
        ]
        values = {"f": f, "fold_scores": fold_scores(case, sigma, lam)}
        model = {key: [mp.nstr(v, DIGITS) for v in vector] for key, vector in values.items()}
        printed = {key: mp.nstr(v, DIGITS) for key, v in estimates(case, sigma, lam).items()}
        models.append({"sigma": float(sigma), "lam": float(lam), **model, "estimates": printed})
    return {**{key: value for key, value in inputs.items() if key != "grid"}, "models": models}


def main() -> None:
    """Write mixed.json."""
    content = {"ratio": RATIO, "cases": [solve_case(inputs) for inputs in all_inputs()]}
    MIXED_FILE.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
