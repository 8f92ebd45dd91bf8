"""Golden values of E1 to E15 and of the hold-out scores, computed with 50 digits by plain loops and quadrature.

Written from the equations alone, with nothing of the library imported, so that an error would have to be
made twice to go unseen. `python make_golden.py` writes `golden.json` beside this file. Inputs are floats
rounded to 6 decimals and taken over bit for bit; outputs are strings of 30 digits.
"""

import json
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import mpmath as mp  # type: ignore[import-untyped]
from mpmath.calculus.quadrature import GaussLegendre  # type: ignore[import-untyped]

DIGITS = 30
mp.mp.dps = 50

Number = Any  # mpf
Vector = list[Any]
Rows = list[list[Any]]
GOLDEN_FILE = Path(__file__).with_name("golden.json")


class Lehmer:
    """The multiplicative generator 48271 mod 2^31 - 1: the same inputs on every machine and version."""

    def __init__(self, seed: int) -> None:
        self.state = seed * 1234567  # small seeds would begin with numbers near 0

    def uniform(self, low: float, high: float) -> float:
        """Return one number between low and high with 6 decimals."""
        self.state = self.state * 48271 % 2147483647
        return round(low + (high - low) * self.state / 2147483647, 6)

    def rows(self, count: int, lows: list[float], highs: list[float]) -> list[list[float]]:
        """Return `count` rows, one column per pair of bounds."""
        return [[self.uniform(a, b) for a, b in zip(lows, highs, strict=True)] for _ in range(count)]


def exact(values: list[Any]) -> list[Any]:
    """Return floats, nested or not, as mpf of the same binary value."""
    return [exact(v) if isinstance(v, list) else mp.mpf(v) for v in values]


def text(value: Any) -> Any:
    """Return an mpf, a matrix or nested lists of them as strings of 30 digits."""
    if isinstance(value, mp.matrix):
        value = value.tolist() if value.cols > 1 else list(value)
    if isinstance(value, list):
        return [text(v) for v in value]
    if isinstance(value, dict):
        return {key: text(v) for key, v in value.items()}
    return mp.nstr(value, DIGITS)


def squared_distance(a: Vector, b: Vector) -> Number:
    return mp.fsum((p - q) ** 2 for p, q in zip(a, b, strict=True))


def features(point: Vector, centers: Rows, sigma: Number) -> Any:
    """Return psi(point), a column of b numbers."""
    return mp.matrix([mp.exp(-squared_distance(point, c) / (2 * sigma**2)) for c in centers])


def shares(weights: Vector) -> Vector:
    """Return the weights of one sample divided by their sum."""
    return [w / mp.fsum(weights) for w in weights]


def mean_features(rows: Rows, weights: Vector, centers: Rows, sigma: Number) -> Any:
    """Return the weighted mean of psi over one sample."""
    mean = mp.zeros(len(centers), 1)
    for row, omega in zip(rows, shares(weights), strict=True):
        mean += omega * features(row, centers, sigma)
    return mean


def covariance_of_mean(rows: Rows, weights: Vector, centers: Rows, sigma: Number) -> tuple[Any, Any]:
    """Return the covariance of the mean of psi: with the unbiased denominator (E7), and without (E8).

    With equal weights these are the covariances with ddof 1 and ddof 0, each divided by the number of rows.
    """
    mean = mean_features(rows, weights, centers, sigma)
    plain = mp.zeros(len(centers))
    concentration = mp.mpf(0)
    for row, omega in zip(rows, shares(weights), strict=True):
        psi = features(row, centers, sigma)
        plain += omega**2 * (psi * psi.T)
        concentration += omega**2
    plain -= concentration * (mean * mean.T)
    return plain / (1 - concentration), plain


def gram(centers: Rows, sigma: Number) -> Any:
    """Return G of E2."""
    return mp.matrix([[mp.exp(-squared_distance(a, b) / (4 * sigma**2)) for b in centers] for a in centers])


def scale(dimension: int, sigma: Number) -> Number:
    """Return s of E2."""
    return (mp.pi * sigma**2) ** (mp.mpf(dimension) / 2)


def solve_theta(G: Any, s: Number, lam: Number, h: Any) -> Any:
    """Return theta = (H + lambda I)^-1 h with lambda = lam s (E3)."""
    return mp.inverse(s * G + lam * s * mp.eye(G.rows)) * h


def trace_of_product(a: Any, b: Any) -> Number:
    product = a * b
    return mp.fsum(product[i, i] for i in range(product.rows))


def dot(a: Any, b: Any) -> Number:
    return (a.T * b)[0]


def distance_estimates(h: Any, theta: Any, G: Any, s: Number, lam: Number) -> dict[str, Number]:
    """Return E4, E5 and E6 from theta and H, after checking that their forms in A give the same."""
    H = s * G
    e4, e5 = dot(h, theta), dot(theta, H * theta)
    e6 = 2 * e4 - e5
    Ah = mp.inverse(G + lam * mp.eye(G.rows)) * h
    for left, right in ((e5, dot(h, Ah) - lam * dot(Ah, Ah)), (e6, dot(h, Ah) + lam * dot(Ah, Ah))):
        if not mp.almosteq(left, right / s, rel_eps=mp.mpf(10) ** -35):
            raise ArithmeticError("the two forms of E5 or E6 differ")
    return {"h_theta": e4, "theta_H_theta": e5, "regularization_corrected": e6}


def model_values(case: dict[str, Any], sigma: Number, lam: Number) -> dict[str, Any]:
    """Return everything for one (sigma, lam), in the units of the rows of `case`."""
    X, Y, C = case["X"], case["Y"], case["centers"]
    wx, wy = case["weights_x"], case["weights_y"]
    h = mean_features(X, wx, C, sigma) - mean_features(Y, wy, C, sigma)  # E1
    G, s = gram(C, sigma), scale(len(C[0]), sigma)
    theta = solve_theta(G, s, lam, h)
    A = mp.inverse(G + lam * mp.eye(G.rows))
    M = A + lam * A * A
    unbiased_x, plain_x = covariance_of_mean(X, wx, C, sigma)
    unbiased_y, plain_y = covariance_of_mean(Y, wy, C, sigma)
    S = unbiased_x + unbiased_y

    estimates = distance_estimates(h, theta, G, s, lam)
    e6 = estimates["regularization_corrected"]
    estimates["debiased"] = e6 - trace_of_product(M, S) / s  # E7
    e8 = e6 - trace_of_product(mp.inverse(s * G), plain_x + plain_y)  # E8
    estimates["bias_corrected"] = e8
    estimates["positive_part"] = max(mp.mpf(0), e8)

    psis = [features(point, C, sigma) for point in case["points"]]
    eigenvalues = mp.eigsy(G, eigvals_only=True)
    return {
        "h": h,
        "G": G,
        "theta": theta,
        "f": [dot(theta, psi) for psi in psis],
        "f_variance": [dot(A * psi, S * (A * psi)) / s**2 for psi in psis],  # E10
        "estimates": estimates,
        "condition": max(eigenvalues) / min(eigenvalues),
    }


def fold_scores(case: dict[str, Any], sigma: Number, lam: Number) -> Vector:
    """Return theta_t' H theta_t - 2 theta_t' h_holdout of every fold t, theta_t from all other rows."""
    C = case["centers"]
    G, s = gram(C, sigma), scale(len(C[0]), sigma)

    def h_of(t: int, held_out: bool) -> Any:
        parts = []
        for sample, folds in ((case["X"], case["fold_x"]), (case["Y"], case["fold_y"])):
            rows = [row for row, fold in zip(sample, folds, strict=True) if (fold == t) == held_out]
            parts.append(mean_features(rows, [mp.mpf(1)] * len(rows), C, sigma))
        return parts[0] - parts[1]

    scores = []
    for t in range(max(case["fold_x"]) + 1):
        theta = solve_theta(G, s, lam, h_of(t, held_out=False))
        scores.append(dot(theta, s * G * theta) - 2 * dot(theta, h_of(t, held_out=True)))
    return scores


def pooled_scale(case: dict[str, Any]) -> tuple[Vector, Vector]:
    """Return mean and deviation (ddof 0) of each column over all rows.

    The weights of each sample are scaled to sum to its number of rows.
    """
    rows = case["X"] + case["Y"]
    weights = []
    for key in ("weights_x", "weights_y"):
        weights += [omega * len(case[key]) for omega in shares(case[key])]
    means, deviations = [], []
    for j in range(len(rows[0])):
        mean = mp.fsum(w * row[j] for w, row in zip(weights, rows, strict=True)) / len(rows)
        square = mp.fsum(w * (row[j] - mean) ** 2 for w, row in zip(weights, rows, strict=True)) / len(rows)
        means.append(mean)
        deviations.append(mp.sqrt(square))
    return means, deviations


def standardized(case: dict[str, Any]) -> tuple[dict[str, Any], Number]:
    """Return the case in standardized units and the product of the deviations."""
    means, deviations = pooled_scale(case)

    def to_units(rows: Rows) -> Rows:
        return [[(v - c) / r for v, c, r in zip(row, means, deviations, strict=True)] for row in rows]

    changed = {key: to_units(case[key]) for key in ("X", "Y", "centers", "points")}
    return {**case, **changed}, mp.fprod(deviations)


def solve_case(inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs of one case with the values of all its models, in the user's units."""
    case = {key: exact(inputs[key]) for key in ("X", "Y", "centers", "points")}
    case["weights_x"] = exact(inputs["weights_x"] or [1.0] * len(inputs["X"]))
    case["weights_y"] = exact(inputs["weights_y"] or [1.0] * len(inputs["Y"]))
    case["fold_x"], case["fold_y"] = inputs["fold_x"], inputs["fold_y"]
    volume = mp.mpf(1)
    if inputs["standardize"]:
        case, volume = standardized(case)

    models = []
    for sigma, lam in inputs["grid"]:
        values = model_values(case, mp.mpf(sigma), mp.mpf(lam))
        # theta, f and every distance carry one over the product of the deviations; h, G and condition none.
        values["theta"] = values["theta"] / volume
        values["f"] = [v / volume for v in values["f"]]
        values["f_variance"] = [v / volume**2 for v in values["f_variance"]]
        values["estimates"] = {key: v / volume for key, v in values["estimates"].items()}
        values["condition"] = mp.nstr(values["condition"], 6)
        printed = {key: v if key == "condition" else text(v) for key, v in values.items()}
        if inputs["fold_x"]:
            printed["fold_scores"] = text(fold_scores(case, mp.mpf(sigma), mp.mpf(lam)))
        models.append({"sigma": sigma, "lam": lam, **printed})
    return {**{key: v for key, v in inputs.items() if key != "grid"}, "models": models}


def filter_value(w: Number, sigma: Number, lam: Number) -> Number:
    """Return F of E11."""
    return 1 / (1 + lam * mp.exp(sigma**2 * w**2 / 2))


@cache
def frequency_nodes(sigma: Number, lam: Number, dimension: int) -> list[tuple[Number, Number, Number]]:
    """Return (w, weight, F(w)) of a Gauss-Legendre rule: 25 panels of 48 nodes, F's poles a panel's width away.

    The last panel ends where w^(d-1) F is below 1e-45 of its peak.
    """
    top = mp.sqrt(2 * (mp.log(1 + 1 / lam) + 45 * mp.log(10) + dimension * 3)) / sigma
    edges = mp.linspace(0, top, 26)
    rule = GaussLegendre(mp.mp)
    nodes = [node for a, b in pairwise(edges) for node in rule.get_nodes(a, b, 5, mp.mp.prec)]
    return [(w, weight, filter_value(w, sigma, lam)) for w, weight in nodes]


def radial_kernel(r: Number, sigma: Number, lam: Number, dimension: int) -> tuple[Number, Number]:
    """Return K_F(r) and K_FF(r) of E15: the inverse transforms of F and F^2, by their Bessel integral."""
    half = mp.mpf(dimension) / 2
    surface = 2 * mp.pi**half / mp.gamma(half) / (2 * mp.pi) ** dimension

    def wave(w: Number) -> Number:
        # The mean of exp(i w x) over the sphere of radius r; in one dimension a cosine.
        mean = mp.cos(w * r) if dimension == 1 else mp.hyp0f1(half, -((w * r) ** 2) / 4)
        return surface * w ** (dimension - 1) * mean

    plain, squared = [], []
    for w, weight, F in frequency_nodes(sigma, lam, dimension):
        plain.append(weight * F * wave(w))
        squared.append(plain[-1] * F)
    return mp.fsum(plain), mp.fsum(squared)


def filter_estimates(case: dict[str, Any], sigma: Number, lam: Number) -> dict[str, Any]:
    """Return f at the points and the twins of E4 to E7 as sums over pairs of rows (E15)."""
    X, Y = case["X"], case["Y"]
    dimension = len(X[0])
    omegas = shares(case["weights_x"]), shares(case["weights_y"])
    rows, weights = X + Y, omegas[0] + [-omega for omega in omegas[1]]
    kernels: dict[Any, tuple[Number, Number]] = {}

    def kernel(a: Vector, b: Vector) -> tuple[Number, Number]:
        squared = squared_distance(a, b)
        if squared not in kernels:
            kernels[squared] = radial_kernel(mp.sqrt(squared), sigma, lam, dimension)
        return kernels[squared]

    table = [[kernel(a, b) for b in rows] for a in rows]
    everything = [(i, j) for i in range(len(rows)) for j in range(len(rows))]
    plain = mp.fsum(weights[i] * weights[j] * table[i][j][0] for i, j in everything)
    squared = mp.fsum(weights[i] * weights[j] * table[i][j][1] for i, j in everything)

    debiased = mp.mpf(0)
    blocks = (range(len(X)), range(len(X), len(rows)))
    for one in blocks:
        for other in blocks:
            pairs = [(i, j) for i in one for j in other if i != j]
            mass = abs(mp.fsum(weights[i] * weights[j] for i, j in pairs))  # 1 across the samples
            terms = [weights[i] * weights[j] * (2 * table[i][j][0] - table[i][j][1]) for i, j in pairs]
            debiased += mp.fsum(terms) / mass
    return {
        "f": [
            mp.fsum(w * kernel(point, row)[0] for w, row in zip(weights, rows, strict=True)) for point in case["points"]
        ],
        "estimates": {
            "h_theta": plain,
            "theta_H_theta": squared,
            "regularization_corrected": 2 * plain - squared,
            "debiased": debiased,
        },
    }


def wave_sums(rows: Rows, weights: Vector, w: Number) -> tuple[Number, Number]:
    """Return the real and imaginary part of one sample's characteristic function at -w, for one column."""
    parts = list(zip(rows, shares(weights), strict=True))
    return mp.fsum(o * mp.cos(w * row[0]) for row, o in parts), -mp.fsum(o * mp.sin(w * row[0]) for row, o in parts)


def spectral_values(case: dict[str, Any], sigma: Number, lam: Number) -> dict[str, Any]:
    """Return E11 (f at the points), E12 with its twins and E13 of one column, by quadrature over w."""
    X, Y, wx, wy = case["X"], case["Y"], case["weights_x"], case["weights_y"]
    crowding = [mp.fsum(o**2 for o in shares(w)) for w in (wx, wy)]  # 1/n and 1/m with equal weights

    parts = []
    for w, weight, F in frequency_nodes(sigma, lam, 1):
        (a, b), (c, d) = wave_sums(X, wx, w), wave_sums(Y, wy, w)
        powers = a**2 + b**2, c**2 + d**2
        noise = mp.fsum(s / (1 - s) * (1 - p) for s, p in zip(crowding, powers, strict=True))
        parts.append((weight, (w, F, a - c, b - d, noise)))

    def integral(term: Any) -> Number:
        return mp.fsum(weight * term(*values) for weight, values in parts) / mp.pi

    estimates = {
        "h_theta": integral(lambda w, F, a, b, noise: F * (a**2 + b**2)),
        "theta_H_theta": integral(lambda w, F, a, b, noise: F**2 * (a**2 + b**2)),
        "regularization_corrected": integral(lambda w, F, a, b, noise: (2 * F - F**2) * (a**2 + b**2)),
        "debiased": integral(lambda w, F, a, b, noise: (2 * F - F**2) * (a**2 + b**2 - noise)),
    }
    points = [point[0] for point in case["points"]]
    f = [integral(lambda w, F, a, b, noise, t=t: F * (a * mp.cos(w * t) - b * mp.sin(w * t))) for t in points]
    return {"f": f, "estimates": estimates}


def spectral_scores(case: dict[str, Any], sigma: Number, lam: Number) -> Vector:
    """Return E14 of every fold of one column, by quadrature over w."""

    def chosen(key: str, t: int, held_out: bool) -> Rows:
        folds = case["fold_x" if key == "X" else "fold_y"]
        return [row for row, fold in zip(case[key], folds, strict=True) if (fold == t) == held_out]

    def difference(t: int, held_out: bool, w: Number) -> tuple[Number, Number]:
        x, y = (wave_sums(rows, [mp.mpf(1)] * len(rows), w) for rows in (chosen(k, t, held_out) for k in "XY"))
        return x[0] - y[0], x[1] - y[1]

    scores = []
    for t in range(max(case["fold_x"]) + 1):
        terms = []
        for w, weight, F in frequency_nodes(sigma, lam, 1):
            (a, b), (c, d) = difference(t, False, w), difference(t, True, w)
            terms.append(weight * (F**2 * (a**2 + b**2) - 2 * F * (a * c + b * d)))
        scores.append(mp.fsum(terms) / mp.pi)
    return scores


def agree(left: Any, right: Any) -> bool:
    """Return whether two nests of numbers are the same to 30 digits of their largest."""
    if isinstance(left, dict):
        left, right = [left[key] for key in sorted(left)], [right[key] for key in sorted(right)]
    size = max(abs(v) for v in left)
    return all(abs(a - b) < size * mp.mpf(10) ** -DIGITS for a, b in zip(left, right, strict=True))


def solve_filter_case(inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs of one case of the exact solvers with the values of its models, in the user's units.

    In one column every value is computed twice: from pairs (E15) and by quadrature over frequencies (E11 to E13).
    """
    case = {key: exact(inputs[key]) for key in ("X", "Y", "points")}
    case["centers"] = case["X"]
    case["weights_x"] = exact(inputs["weights_x"] or [1.0] * len(inputs["X"]))
    case["weights_y"] = exact(inputs["weights_y"] or [1.0] * len(inputs["Y"]))
    case["fold_x"], case["fold_y"] = inputs["fold_x"], inputs["fold_y"]
    volume = mp.mpf(1)
    if inputs["standardize"]:
        case, volume = standardized(case)
    models = []
    for sigma, lam in inputs["grid"]:
        values = filter_estimates(case, mp.mpf(sigma), mp.mpf(lam))
        if len(case["X"][0]) == 1:
            again = spectral_values(case, mp.mpf(sigma), mp.mpf(lam))
            if not all(agree(values[key], again[key]) for key in values):
                raise ArithmeticError("E15 and quadrature of E11 to E13 differ")
        printed = text({key: values["estimates"][key] / volume for key in values["estimates"]})
        model = {"sigma": sigma, "lam": lam, "f": text([v / volume for v in values["f"]]), "estimates": printed}
        if inputs["fold_x"]:
            model["fold_scores"] = text(spectral_scores(case, mp.mpf(sigma), mp.mpf(lam)))
        models.append(model)
    return {**{key: v for key, v in inputs.items() if key != "grid"}, "models": models}


def gaussian_shift(mu: float) -> dict[str, Any]:
    """Return the distances of N(mu, 1/(4 pi)) and N(0, 1/(4 pi)): quadrature checked against closed form."""
    shift = mp.mpf(mu)

    def density(x: Number, mean: Number) -> Number:
        return mp.sqrt(2) * mp.exp(-2 * mp.pi * (x - mean) ** 2)

    # Beyond 6 the integrands are below exp(-4 pi 5^2) = 1e-136.
    edges = mp.linspace(-6, 7, 14)
    squared = mp.quad(lambda x: (density(x, shift) - density(x, 0)) ** 2, edges)
    norms = mp.quad(lambda x: density(x, shift) ** 2 + density(x, 0) ** 2, edges)
    closed = 1 - mp.exp(-mp.pi * shift**2)
    if max(abs(squared - 2 * closed), abs(squared / norms - closed)) > mp.mpf(10) ** -40:
        raise ArithmeticError(f"closed form and quadrature differ at mu = {mu}")
    return {"mu": mu, "squared": text(2 * closed), "normalized": text(closed)}


def make_inputs(name: str, seed: int, sizes: tuple[int, int], box: Any, grid: Any) -> dict[str, Any]:
    """Return a case with all rows as centers; X is uniform on `box`, Y on the box moved by a quarter."""
    draw = Lehmer(seed)
    lows, highs = box
    quarter = [(b - a) / 4 for a, b in zip(lows, highs, strict=True)]
    X = draw.rows(sizes[0], lows, highs)
    Y = draw.rows(
        sizes[1],
        [a + q for a, q in zip(lows, quarter, strict=True)],
        [b + q for b, q in zip(highs, quarter, strict=True)],
    )
    return {
        "name": name,
        "X": X,
        "Y": Y,
        "centers": X + Y,
        "weights_x": None,
        "weights_y": None,
        "standardize": False,
        "points": draw.rows(5, lows, highs),
        "fold_x": None,
        "fold_y": None,
        "grid": grid,
    }


def all_inputs() -> list[dict[str, Any]]:
    """Return the cases. Folds differ in size within and between the samples, in no particular order."""
    folds_9, folds_6 = [0, 1, 0, 2, 0, 1, 2, 1, 0], [1, 2, 2, 0, 1, 2]
    folds_8, other_8 = [0, 1, 2, 3, 0, 1, 2, 0], [3, 3, 1, 0, 2, 1, 3, 0]

    line = make_inputs("d1_given_centers", 1, (9, 6), ([-2.0], [2.0]), [(0.4, 0.1), (0.55, 0.001), (0.3, 1.0)])
    line.update(centers=[[-2.1], [-1.3], [-0.4], [0.2], [1.1], [1.9], [2.8]], fold_x=folds_9, fold_y=folds_6)

    crowded = make_inputs("d1_all_rows", 2, (8, 8), ([-2.0], [2.0]), [(0.5, 0.1), (1.0, 0.01)])
    crowded.update(fold_x=folds_8, fold_y=other_8)

    plane = make_inputs("d2_all_rows", 3, (9, 6), ([-2.0] * 2, [2.0] * 2), [(0.4, 0.03), (0.25, 0.5)])
    plane.update(fold_x=folds_9, fold_y=folds_6)

    weighted = make_inputs("d2_weighted", 4, (9, 6), ([-2.0] * 2, [2.0] * 2), [(0.6, 0.1), (0.4, 0.01)])
    weighted["centers"] = weighted["X"][:4] + weighted["Y"][:3]
    weighted["weights_x"] = [row[0] for row in Lehmer(40).rows(9, [0.2], [3.0])]
    weighted["weights_y"] = [0.0] + [row[0] for row in Lehmer(41).rows(5, [0.2], [3.0])]

    five = make_inputs("d5_seven_centers", 5, (9, 6), ([-2.0] * 5, [2.0] * 5), [(1.0, 0.1), (2.0, 0.001)])
    five.update(centers=five["X"][2:6] + five["Y"][1:4], fold_x=folds_9, fold_y=folds_6)

    units = ([1000.0, -0.02, 3.0, -5.0, 0.0], [1300.0, 0.02, 4.0, 5.0, 70.0])
    rescaled = make_inputs("d5_standardized", 6, (9, 6), units, [(1.0, 0.1), (1.5, 0.003)])
    rescaled["standardize"] = True

    rescaled_weighted = make_inputs("d5_standardized_weighted", 7, (8, 8), units, [(1.2, 0.05)])
    rescaled_weighted["standardize"] = True
    rescaled_weighted["centers"] = rescaled_weighted["X"][:3] + rescaled_weighted["Y"][:4]
    rescaled_weighted["weights_x"] = [row[0] for row in Lehmer(70).rows(8, [0.2], [3.0])]
    rescaled_weighted["weights_y"] = [row[0] for row in Lehmer(71).rows(8, [0.2], [3.0])]

    wide = make_inputs("d40_all_rows", 8, (8, 8), ([-1.0] * 40, [1.0] * 40), [(2.5, 0.1), (4.0, 0.01)])
    wide.update(fold_x=folds_8, fold_y=other_8)
    return [line, crowded, plane, weighted, five, rescaled, rescaled_weighted, wide]


def filter_inputs() -> list[dict[str, Any]]:
    """Return the cases of the exact solvers, small: every pair is a quadrature."""
    line = make_inputs("line", 11, (6, 4), ([-2.0], [2.0]), [(0.4, 0.1), (0.3, 0.001)])
    line.update(fold_x=[0, 1, 0, 2, 0, 1], fold_y=[1, 2, 2, 0])
    line_weighted = make_inputs("line_weighted", 12, (5, 6), ([-2.0], [2.0]), [(0.5, 0.01)])
    line_weighted["weights_x"] = [row[0] for row in Lehmer(80).rows(5, [0.2], [3.0])]
    line_weighted["weights_y"] = [row[0] for row in Lehmer(81).rows(6, [0.2], [3.0])]
    line_rescaled = make_inputs("line_standardized", 13, (6, 5), ([1000.0], [1300.0]), [(0.4, 0.03)])
    line_rescaled["standardize"] = True
    plane = make_inputs("plane", 14, (5, 4), ([-2.0] * 2, [2.0] * 2), [(0.6, 0.1), (0.5, 0.001)])
    five = make_inputs("five", 15, (5, 3), ([-1.0] * 5, [1.0] * 5), [(1.0, 0.1), (0.7, 0.001)])
    five_rescaled = make_inputs(
        "five_standardized",
        16,
        (4, 5),
        ([1000.0, -0.02, 3.0, -5.0, 0.0], [1300.0, 0.02, 4.0, 5.0, 70.0]),
        [(1.0, 0.05)],
    )
    five_rescaled["standardize"] = True
    five_rescaled["weights_x"] = [row[0] for row in Lehmer(82).rows(4, [0.2], [3.0])]
    cases = [line, line_weighted, line_rescaled, plane, five, five_rescaled]
    for case in cases:
        del case["centers"]
        case["points"] = case["points"][:3]
    return cases


def main() -> None:
    """Write golden.json."""
    golden = {
        "cases": [solve_case(inputs) for inputs in all_inputs()],
        "filter_cases": [solve_filter_case(inputs) for inputs in filter_inputs()],
        "gaussian_shift": [gaussian_shift(mu) for mu in (0.0, 0.2, 0.4, 0.6, 0.8)],
    }
    GOLDEN_FILE.write_text(json.dumps(golden, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
