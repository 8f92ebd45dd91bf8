"""The theory of the paper: closed forms against quadrature, a tiny run, verdicts that turn when the rows are wrong."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import densdiff as dd
from paper import theory
from paper.part import SEED
from paper.theory_checks import BASIS, P, Q, bias, lower_bound, normality, row
from paper.theory_rates import ORDERS, Shifted

Rows = list[dict[str, Any]]
LINE = np.linspace(-6.0, 7.0, 26_001)
STEP = LINE[1] - LINE[0]


def ideal() -> Rows:
    """Rows as the theorems want them."""
    rows = []
    for total in theory.TOTALS:
        rows += [
            row("normality", "covariance", "formula", total, 1.0, None, 1.0),
            row("normality", "covariance", "formula with n and m exchanged", total, 9.0, None, 1.0),
            row("normality", "coverage", "95 % ellipsoid", total, 0.951, 0.005, 0.95),
        ]
    for lam in theory.LAMS:
        rows += [
            row("regularization", "bias", f"beta = {b}", lam, -(2 - b) * lam, 0.1 * lam, -(2 - b) * lam) for b in (0, 1)
        ]
        rows.append(row("regularization", "bias", "beta = 2", lam, -(lam**2), 0.1 * lam**2, 0.0))
    for n in (30, 120):
        rows.append(row("bias", "excess", theory.PLAIN, n, 4.1 / n, 0.1 / n, 4.0 / n))
        rows.append(row("bias", "excess", "bias_corrected", n, 0.0, 0.1 / n, 4.0 / n**2))
    for sigma, condition, cut, literal in ((0.02, 2.0, 0.1, 0.1), (0.08, 1e9, 0.3, 0.3), (0.16, 1e17, 0.2, 900.0)):
        rows.append(row("positive part", "condition of H", "", sigma, condition, None, None))
        for name, error in ((theory.PLAIN, 0.2), (theory.CUT, cut), (theory.LITERAL, literal)):
            rows.append(row("positive part", "error", name, sigma, error, 0.01, 0.0))
    rows += [row("duality", "multiple of f", "c f", c, 2 * c - c**2, None, 1.0) for c in (0.0, 1.0, 1.5)]
    rows.append(row("duality", "random g", "sum of Gaussians", 0, -1.0, None, 1.0))
    for n in theory.LSDD_ROWS:
        for name, value in (
            ("true expectations", 1 - 1 / n),
            ("fresh rows", 1 - 0.9 / n),
            ("rows of the fit", 1 + 1 / n),
        ):
            rows.append(row("duality", "LSDD", name, n, value, 0.1 / n, 1.0))
    for order in ORDERS:
        case = f"{Shifted(order).smoothness:g}"
        for name, power in (("LSDD", theory.promised(case)), ("LSDD, cross-validated", -0.5), ("KDE", -0.5)):
            rows += [row("rate", case, name, n, n**power, 0.01 * n**power, None) for n in theory.RATE_ROWS]
    return rows


def bend(rows: Rows, change: Callable[[dict[str, Any]], float], check: str, **where: Any) -> Rows:
    """The same rows, with other values where the entries agree."""
    return [
        r | {"value": change(r)} if r["check"] == check and all(r[k] == v for k, v in where.items()) else r
        for r in rows
    ]


def verdicts(rows: Rows) -> list[bool | None]:
    return [claim.holds for claim in theory.claims(rows)]


def test_ideal_rows_bear_out_every_claim() -> None:
    found = theory.claims(ideal())
    assert [claim.holds for claim in found] == [True] * 7
    assert not any(claim.reason for claim in found)


def test_without_rows_nothing_is_measured() -> None:
    assert verdicts([]) == [None] * 7


WRONG: list[tuple[int, str, Callable[[dict[str, Any]], float], dict[str, Any]]] = [
    (0, "normality", lambda r: 3.0, {"method": "formula"}),
    (0, "normality", lambda r: 0.93, {"case": "coverage"}),
    (1, "regularization", lambda r: 1.02 * r["value"], {"method": "beta = 0"}),
    (1, "regularization", lambda r: r["value"] * r["x"], {"method": "beta = 1"}),
    (1, "regularization", lambda r: -0.01 * r["x"], {"method": "beta = 2"}),
    (2, "bias", lambda r: 0.0, {"method": theory.PLAIN}),
    (2, "bias", lambda r: 2 * r["theory"], {"method": theory.PLAIN, "x": 120.0}),
    (3, "positive part", lambda r: 0.3, {"method": theory.LITERAL, "x": 0.16}),
    (3, "positive part", lambda r: 0.3, {"method": theory.LITERAL, "x": 0.02}),
    (3, "positive part", lambda r: 10.0, {"case": "condition of H"}),
    (4, "duality", lambda r: 0.999, {"method": "c f", "x": 1.0}),
    (4, "duality", lambda r: 1.001, {"case": "random g"}),
    (4, "duality", lambda r: 1.001, {"method": "true expectations", "x": 3200.0}),
    (4, "duality", lambda r: 0.99, {"method": "true expectations"}),
    (4, "duality", lambda r: 1.1, {"method": "fresh rows"}),
    (5, "rate", lambda r: r["x"] ** -0.6, {"method": "LSDD", "case": "1.5"}),
    (5, "rate", lambda r: r["x"] ** -0.8, {"method": "LSDD", "case": "inf"}),
    (6, "rate", lambda r: r["x"] ** -0.875, {"method": "KDE", "case": "3.5"}),
    (6, "rate", lambda r: r["x"] ** -0.93, {"method": "KDE", "case": "inf"}),
]


@pytest.mark.parametrize(("which", "check", "change", "where"), WRONG)
def test_wrong_rows_turn_one_verdict_and_no_other(
    which: int, check: str, change: Callable[[dict[str, Any]], float], where: dict[str, Any]
) -> None:
    found = theory.claims(bend(ideal(), change, check, **where))
    assert [claim.holds for claim in found] == [k != which for k in range(7)]
    assert found[which].reason


def test_a_kde_that_is_slow_on_rough_densities_only_does_not_count() -> None:
    rows = bend(ideal(), lambda r: r["x"] ** -0.95, "rate", method="KDE")
    rows = bend(rows, lambda r: r["x"] ** -0.1, "rate", method="KDE", case="0.5")
    assert verdicts(rows)[6] is False


@pytest.fixture(scope="module")
def tiny() -> Rows:
    """Two runs of every job but those of many rows, through JSON as in a real run."""
    jobs = [job for job in theory.jobs(2, None) if not job.key.endswith(("-6325", "-20000", "-3200"))]
    results = [job.work(*(1 if each == SEED else each for each in job.arguments)) for job in jobs]
    return theory.table(json.loads(json.dumps(results, allow_nan=False)))


def test_a_tiny_run_gives_rows_of_one_shape_verdicts_and_a_panel_for_each_check(tiny: Rows) -> None:
    assert len({tuple(r) for r in tiny}) == 1
    assert len({r["check"] for r in tiny}) == 6
    assert all(isinstance(holds, bool) for holds in verdicts(tiny))
    assert verdicts(tiny)[1] is True  # needs no averaging
    assert [ax.get_title() != "" and len(ax.lines) > 0 for ax in theory.draw(tiny).axes] == [True] * 6


def test_simulated_errors_agree_with_the_expected_ones(tiny: Rows) -> None:
    """Eight draws each; the mean of eight exponential variables leaves these limits twice in a million."""
    ratios = [r["value"] / r["theory"] for r in tiny if r["check"] == "rate" and r["theory"]]
    assert len(ratios) == 24
    assert min(ratios) > 0.1
    assert max(ratios) < 4


def test_jobs_have_keys_of_their_own_that_do_not_depend_on_the_runs() -> None:
    few, many = ([job.key for job in theory.jobs(runs, None)] for runs in (2, 60))
    assert few == many
    assert len(set(few)) == len(few)
    assert all(set(key) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-") for key in few)


def test_the_covariance_of_theta_tells_the_formula_from_its_mirror_image() -> None:
    """The squared values are chi-squared with 10 degrees of freedom over 10: above 2 twice in 100,000."""
    found = {r["method"]: r["value"] for r in normality(90, 30, 200, 0)}
    assert found["formula"] < 2
    assert found["formula with n and m exchanged"] > 4


def test_the_excess_of_samples_is_the_trace_and_the_correction_removes_it() -> None:
    before, after = bias(20, 10, 60, 0)
    assert abs(before["value"] - before["theory"]) < 4 * before["standard_error"]
    assert before["value"] > 4 * before["standard_error"]
    assert abs(after["value"] - after["theory"]) < 4 * after["standard_error"]
    assert after["theory"] < before["theory"] / 10


@pytest.mark.parametrize("law", [P, Q])
def test_moments_and_h_agree_with_quadrature(law: dd.datasets.Mixture) -> None:
    psi, mass = BASIS.features(LINE[:, np.newaxis]), STEP * law(LINE)
    mean, covariance = BASIS.moments(law)
    np.testing.assert_allclose(mean, mass @ psi, rtol=1e-10)
    np.testing.assert_allclose(covariance, (psi - mean).T @ ((psi - mean) * mass[:, np.newaxis]), rtol=0, atol=1e-12)
    np.testing.assert_allclose(STEP * psi.T @ psi, BASIS.H, rtol=1e-10)


def test_the_lower_bound_agrees_with_quadrature() -> None:
    pair = dd.datasets.gaussian_shift(0.5, n=1, random_state=0)
    g = [(0.7, pair.p), (-1.2, P)]
    values = sum(a * part(LINE) for a, part in g)
    twin = STEP * (2 * values @ pair.difference(LINE) - values @ values)
    assert lower_bound(g, pair) == pytest.approx(twin, rel=1e-10)


@pytest.mark.parametrize("order", [0, 2, 4])
def test_b_splines_have_deviation_1_and_the_stated_norm(order: int) -> None:
    law = Shifted(order)
    density, f = law.density(LINE), law.difference(LINE)
    assert STEP * density.sum() == pytest.approx(1.0, abs=1e-7)
    assert STEP * density @ LINE**2 == pytest.approx(1.0, abs=1e-5)
    assert law.norm == pytest.approx(STEP * f @ f, rel=1e-6)
    rows = law.sample(20_000, np.random.default_rng(0))
    for each, mean in zip(rows, (1.0, 0.0), strict=True):
        assert abs(each.mean() - mean) < 5 / 20_000**0.5
        assert abs(each.std() - 1) < 5 / 20_000**0.5


def test_the_roughest_difference_is_two_boxes() -> None:
    """Height 1/sqrt(12) on two intervals of length 1."""
    assert Shifted(1).norm == pytest.approx(1 / 6, rel=1e-12)


def test_expected_errors_of_kde_agree_with_gaussian_integrals() -> None:
    n, width = 50, 0.4

    def normal(mean: float, variance: float) -> dd.datasets.Mixture:
        return dd.datasets.Mixture([1.0], [mean], [variance])

    p, q, smooth_p, smooth_q = normal(1, 1), normal(0, 1), normal(1, 1 + width**2), normal(0, 1 + width**2)
    missed = [(1.0, smooth_p), (-1.0, smooth_q), (-1.0, p), (1.0, q)]
    bias = sum(a * b * one.inner(two) for a, one in missed for b, two in missed)
    kernel = normal(0, width**2)
    noise = 2 * (kernel.inner(kernel) - smooth_p.inner(smooth_p)) / n
    law = Shifted(0)
    w = law._power[0]
    expected = law.expected_errors(np.exp(-np.square(width * w) / 2)[np.newaxis], n)[0]
    assert expected == pytest.approx(bias + noise, rel=1e-9)
    assert law.best_kde(n)[1] <= expected


def test_slopes_of_power_laws_come_back_with_their_errors() -> None:
    found = [row("rate", "", "", x, 3 * x**-0.7, 0.1 * 3 * x**-0.7, None) for x in (10.0, 100.0)]
    value, error = theory.slope(found)
    assert value == pytest.approx(-0.7, rel=1e-12)
    assert error == pytest.approx(0.1 * 2**0.5 / np.log(10), rel=1e-12)
