"""Golden values of E1 to E10 and of the hold-out score, computed with 50 digits by plain loops.

Written from the equations alone, with nothing of the library imported, so that an error would have to be
made twice to go unseen. `python make_golden.py` writes `golden.json` beside this file. Inputs are floats
rounded to 6 decimals and taken over bit for bit; outputs are strings of 30 digits.
"""

import json
from pathlib import Path
from typing import Any

import mpmath as mp  # type: ignore[import-untyped]

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


def main() -> None:
    """Write golden.json."""
    golden = {
        "cases": [solve_case(inputs) for inputs in all_inputs()],
        "gaussian_shift": [gaussian_shift(mu) for mu in (0.0, 0.2, 0.4, 0.6, 0.8)],
    }
    GOLDEN_FILE.write_text(json.dumps(golden, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
