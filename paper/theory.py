"""The paper's theory checked by simulation: jobs, table and verdicts.

The simulations are in `theory_checks` and `theory_rates`, the picture in `theory_picture`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from paper import theory_checks as checks
from paper import theory_rates as rates
from paper.claims import Claim
from paper.part import SEED, Job, Part, Rows
from paper.theory_checks import pick
from paper.theory_picture import draw

TOTALS = (40, 160, 640, 2560)  # rows of both samples, three of four from p
LAMS = (1e-2, 1e-3, 1e-4)
SIGMAS = (0.02, 0.04, 0.08, 0.12, 0.16, 0.32)
ILL = 1e12  # condition of H from which a plain inverse has fewer than four digits left
LSDD_ROWS = (50, 200, 800, 3200)
RATE_ROWS = {200: 4, 632: 4, 2000: 4, 6325: 2, 20_000: 1}  # n, and how often the runs are repeated
SLACK = 0.05  # of a slope: the limit is not reached at these n
PLAIN, CUT, LITERAL = "regularization_corrected", "positive_part", "positive_part by a plain inverse"


def jobs(runs: int, data: Path | None) -> list[Job]:
    """Runs of the slow simulations; the fast ones are repeated up to twenty times as often."""
    runs = max(2, runs)
    plan: list[tuple[str, Callable[..., Any], tuple[Any, ...], float]] = [
        *(("normality", checks.normality, (3 * t // 4, t // 4, 20 * runs), 0.05 * runs) for t in TOTALS),
        ("regularization", checks.regularization, (LAMS, runs), 0.1 * runs),
        *(("bias", checks.bias, (2 * m, m, 5 * runs), 0.15 * runs) for m in (10, 40, 160)),
        *(("positive", checks.positive_part, (sigma, runs), 0.04 * runs) for sigma in SIGMAS),
        ("duality", checks.duality_exact, (), 0.1),
        *(("lsdd", checks.duality_lsdd, (n, runs), (0.05 if n < 800 else 0.35) * runs) for n in LSDD_ROWS),
        *(
            ("rate", rates.rate, (order, n, runs * times), (0.03 + n / 4e4) * runs * times)
            for order in rates.ORDERS
            for n, times in RATE_ROWS.items()
        ),
    ]
    keys = ["-".join(["theory", name, *(f"{v:g}" for v in given[:-1] if v != LAMS)]) for name, _, given, _ in plan]
    return [Job(key, work, (*given, SEED), seconds) for key, (_, work, given, seconds) in zip(keys, plan, strict=True)]


def table(results: list[Any]) -> list[dict[str, Any]]:
    """All rows, one job's after another's."""
    return [dict(row) for result in results for row in result]


def slope(found: list[dict[str, Any]]) -> tuple[float, float]:
    """Slope of log |value| against log x by least squares, and its standard error from those of the values."""
    logs = np.log([r["x"] for r in found])
    values = np.array([r["value"] for r in found])
    errors = np.array([r["standard_error"] or 0.0 for r in found]) / np.abs(values)
    weights = (logs - logs.mean()) / np.square(logs - logs.mean()).sum()
    return float(weights @ np.log(np.abs(values))), float(np.sqrt(np.square(weights * errors).sum()))


def _listed(parts: Iterable[str]) -> str:
    return ", ".join(parts)


def _normality(rows: Rows) -> Claim:
    says = (
        "At a fixed basis sqrt(nm/(n+m)) (theta - theta*) tends to a normal law of mean 0 and covariance "
        "H^-1 ((1-eta) V_p + eta V_q) H^-1, eta = n/(n+m)."
    )
    right = pick(rows, "normality", method="formula")
    if not right:
        return Claim("theory", says, "", None)
    wrong = pick(rows, "normality", method="formula with n and m exchanged")[-1]["value"]
    covered = pick(rows, "normality", case="coverage")
    last = covered[-1]
    holds = right[-1]["value"] < 2 and abs(last["value"] - 0.95) <= 3 * last["standard_error"]
    shares = _listed(f"{100 * r['value']:.1f} % at {r['x']:g} rows" for r in covered)
    measured = (
        f"With {right[-1]['x']:g} rows, three of four from p, the covariance of theta lies {right[-1]['value']:.2f} "
        f"times as far from the formula as chance takes it (with n and m exchanged: {wrong:.1f} times). The formula's "
        f"95 % ellipsoid covers {shares} (standard error {100 * last['standard_error']:.1f} %)."
    )
    return Claim(
        "theory", says, measured, holds, "" if holds else "theta is not yet normal at these n, or the formula is wrong"
    )


def _regularization(rows: Rows) -> Claim:
    says = (
        "beta h'theta + (1-beta) theta'H theta = h'H^-1 h - lambda (2-beta) h'H^-2 h + o(lambda): "
        "beta = 2 cancels the bias of first order in lambda."
    )
    series = [pick(rows, "regularization", method=f"beta = {beta}") for beta in (0, 1, 2)]
    if not all(series):
        return Claim("theory", says, "", None)
    orders = [slope([r | {"standard_error": 0.0} for r in each[:2]])[0] for each in series]
    ratios = [each[0]["value"] / each[0]["theory"] for each in series[:2]]
    holds = all(abs(order - 1) < 0.05 for order in orders[:2]) and abs(orders[2] - 2) < 0.05
    holds = holds and all(abs(ratio - 1) < 0.01 for ratio in ratios)
    measured = (
        f"At lambda = {series[0][0]['x']:.2g} the bias is {ratios[0]:.4f} (beta = 0) and {ratios[1]:.4f} (beta = 1) of "
        f"the first-order term; it falls as lambda to the power {orders[0]:.3f}, {orders[1]:.3f} and, for beta = 2, "
        f"{orders[2]:.3f}."
    )
    return Claim("theory", says, measured, holds, "" if holds else "lambda is too large for the expansion")


def _bias(rows: Rows) -> Claim:
    says = "The mean of h'H^-1 h over samples exceeds that of the populations by tr(H^-1 (V_p/n + V_q/m))."
    found = pick(rows, "bias", method=PLAIN)
    if not found:
        return Claim("theory", says, "", None)
    holds = all(abs(r["value"] - r["theory"]) <= 3 * r["standard_error"] for r in found)
    left = _listed(
        f"{r['value']:.4f} +- {r['standard_error']:.4f}" for r in pick(rows, "bias", method="bias_corrected")
    )
    each = (f"{r['value']:.4f} +- {r['standard_error']:.4f} for {r['theory']:.4f} at {r['x']:g} rows" for r in found)
    measured = f"Excess against the trace: {_listed(each)}. After the paper's correction {left} remain."
    return Claim(
        "theory", says, measured, holds, "" if holds else "too few runs, or H is too ill-conditioned for lambda = 0"
    )


def _positive_part(rows: Rows) -> Claim:
    says = (
        "The positive part of the bias-corrected distance may be more accurate, but does not always perform well, "
        "particularly when H is ill-conditioned."
    )
    condition = {r["x"]: r["value"] for r in pick(rows, "positive part", case="condition of H")}
    if not condition:
        return Claim("theory", says, "", None)
    errors = {
        name: {r["x"]: r["value"] for r in pick(rows, "positive part", case="error", method=name)}
        for name in (PLAIN, CUT, LITERAL)
    }
    well = min(condition, key=lambda sigma: errors[LITERAL][sigma] / errors[PLAIN][sigma])
    ill = max(condition, key=lambda sigma: errors[LITERAL][sigma] / errors[PLAIN][sigma])
    helps = condition[well] < ILL and errors[LITERAL][well] < errors[PLAIN][well]
    fails = condition[ill] >= ILL and errors[LITERAL][ill] > 2 * errors[PLAIN][ill]
    measured = (
        f"Where it does best (sigma {well:g}, condition {condition[well]:.1g}) its root mean squared error is "
        f"{errors[LITERAL][well]:.3f}, that of 2h'theta - theta'H theta {errors[PLAIN][well]:.3f}; where worst (sigma "
        f"{ill:g}, condition {condition[ill]:.1g}) {errors[LITERAL][ill]:.3g} against {errors[PLAIN][ill]:.3f}. "
        f"This library leaves out the directions in which H vanishes in double precision: {errors[CUT][ill]:.3f} there."
    )
    reason = ""
    if not fails:
        reason = "no basis here was ill-conditioned enough to spoil it"
    elif not helps:
        reason = (
            "it fails where H is ill-conditioned, as the paper says, but was nowhere better than the plain estimate"
        )
    return Claim("theory", says, measured, helps and fails, reason)


def _duality(rows: Rows) -> Claim:
    says = "The squared distance is the largest value of 2 (E_p g - E_q g) - |g|^2 over all g, taken at g = f."
    met = pick(rows, "duality", method="c f", x=1.0)
    fits = {name: pick(rows, "duality", case="LSDD", method=name) for name in ("true expectations", "fresh rows")}
    if not met or not all(fits.values()):
        return Claim("theory", says, "", None)
    truth = met[0]["theory"]
    others = [r["value"] for r in rows if r["check"] == "duality" and r["case"] in ("multiple of f", "random g")]
    exact, fresh = fits["true expectations"], fits["fresh rows"]
    gaps = [truth - r["value"] for r in exact]
    agree = all(
        abs(a["value"] - b["value"]) <= 3 * math.hypot(a["standard_error"], b["standard_error"])
        for a, b in zip(exact, fresh, strict=True)
    )
    holds = abs(met[0]["value"] - truth) < 1e-9 * truth and max(others) < truth * (1 + 1e-9)
    holds = holds and agree and min(gaps) > 0 and all(b < a for a, b in pairwise(gaps))
    own = pick(rows, "duality", case="LSDD", method="rows of the fit")
    values = [_listed(f"{r['value']:.4f}" for r in each) for each in (exact, fresh, own)]
    sizes = _listed(f"{r['x']:g}" for r in exact)
    measured = (
        f"g = f gives {met[0]['value']:.6f}, the distance is {truth:.6f}, and of {len(others) - 1} other functions the "
        f"best gives {sorted(others)[-2]:.6f}. LSDD's estimate from {sizes} rows gives {values[0]}; on "
        f"fresh rows {values[1]}; on the rows of the fit, where it is no bound, {values[2]}."
    )
    return Claim(
        "theory", says, measured, holds, "" if holds else "too few runs, or an estimate that does not improve with n"
    )


def promised(case: str) -> float:
    """The slope of the promised rate over the n of the table: for a Gaussian that of sqrt(log n) / n."""
    if case != "inf":
        return -2 * float(case) / (2 * float(case) + 1)
    logs = np.log(list(RATE_ROWS))
    return float(np.polyfit(logs, np.log(logs) / 2 - logs, 1)[0])


def _slopes(rows: Rows, method: str) -> dict[str, tuple[float, float]]:
    found = {r["case"]: pick(rows, "rate", method=method, case=r["case"]) for r in rows if r["check"] == "rate"}
    return {case: slope(each) for case, each in found.items() if len(each) > 1}


def _spoken(slopes: dict[str, tuple[float, float]]) -> str:
    return _listed(
        f"{value:.3f} +- {error:.3f} for {promised(case):.3f} (a = {case})" for case, (value, error) in slopes.items()
    )


def _misses(case: str, found: tuple[float, float]) -> bool:
    return found[0] > promised(case) + SLACK + 2 * found[1]


def _rates(rows: Rows) -> list[Claim]:
    lsdd, tuned, kde = (_slopes(rows, method) for method in ("LSDD", "LSDD, cross-validated", "KDE"))
    optimal = "LSDD's squared error falls as n^(-2a/(2a+d)), the best possible, whatever the smoothness a of f."
    saturated = "The Gaussian KDE misses that rate when a > 2."
    if not lsdd or not tuned or not kde:
        return [Claim("theory", says, "", None) for says in (optimal, saturated)]
    slow = [case for case, found in lsdd.items() if _misses(case, found)]
    slow_tuned = [case for case, found in tuned.items() if _misses(case, found)]
    words = f"a = {_listed(slow_tuned)} too slow" if slow_tuned else "nowhere slower"
    first = Claim(
        "theory",
        optimal,
        f"Slopes of log error against log n at the best sigma and lam: {_spoken(lsdd)}; cross-validated: "
        f"{_spoken(tuned)}, {words} than promised.",
        not slow,
        f"the rate is not reached up to n = {max(RATE_ROWS):g} for a = {_listed(slow)}" if slow else "",
    )
    smooth = {case: found for case, found in kde.items() if float(case) > 2}
    reached = [case for case, found in smooth.items() if not _misses(case, found)]
    last = [pick(rows, "rate", case="inf", method=method)[-1]["value"] for method in ("KDE", "LSDD")]
    second = Claim(
        "theory",
        saturated,
        f"At the best width: {_spoken(kde)}; its limit is -0.8 for every a > 2. For Gaussians at n = "
        f"{max(RATE_ROWS):g} its error is {last[0] / last[1]:.2f} times LSDD's.",
        not reached,
        f"no miss beyond the uncertainty of the slope for a = {_listed(reached)}" if reached else "",
    )
    return [first, second]


def claims(rows: Rows) -> list[Claim]:
    """One verdict for each theorem, two for the rates."""
    checked = (_normality, _regularization, _bias, _positive_part, _duality)
    return [*(check(rows) for check in checked), *_rates(rows)]


PARTS = (
    Part(
        figure="theory",
        title="checked by simulation",
        jobs=jobs,
        table=table,
        draw=draw,
        claims=claims,
        full_runs=60,
    ),
)
