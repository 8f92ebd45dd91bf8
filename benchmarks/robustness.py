"""Rejection rates on the paper's outlier pair: LSDD beside KLIEP as outliers move out or become more.

p is a standard normal with a share eta of narrow outliers at mu, q a standard normal, n = m = 100, level 5 %. An L2
distance is bounded by what the outliers weigh; a divergence grows with how far out they lie. KLIEP has fewer runs, the
first ones: it takes four times as long as all others together.
"""

import numpy as np
from joblib import Parallel, delayed

import densdiff as dd

TESTS = {
    "LSDD, pooled": (dd.LSDD, "pooled"),
    "LSDD, refit (the paper)": (dd.LSDD, "refit"),
    "LSDD, aggregate": (dd.LSDD, "aggregate"),
    "KLIEP, pooled": (dd.KLIEP, "pooled"),
}


def rejections(mu, eta, run, permutations, with_kliep):
    pair = dd.datasets.outlier_mixture(mu, eta, n=100, random_state=run)
    return [
        dd.two_sample_test(
            pair.x, pair.y, model=model(), tuning=tuning, n_permutations=permutations, random_state=run
        ).pvalue
        <= 0.05
        if with_kliep or model is not dd.KLIEP
        else np.nan
        for model, tuning in TESTS.values()
    ]


def table(title, cells, runs, kliep_runs, permutations):
    print(f"\n{title}\n{'':26s}" + "".join(f"{label:>8s}" for label, _, _ in cells))
    jobs = (
        delayed(rejections)(mu, eta, run, permutations, run < kliep_runs) for _, mu, eta in cells for run in range(runs)
    )
    rates = np.nanmean(np.reshape(Parallel(n_jobs=-1)(jobs), (len(cells), runs, len(TESTS))), axis=1)
    for name, row in zip(TESTS, rates.T, strict=True):
        print(f"{name:26s}" + "".join(f"{rate:8.2f}" for rate in row), flush=True)


def main(quick=False):
    runs, kliep_runs, permutations = (10, 2, 99) if quick else (30, 8, 199)
    print(f"rejection rates at 5 %, {runs} runs, of KLIEP {kliep_runs}, {permutations} permutations")
    print(f"standard error at most {0.5 / np.sqrt(runs):.2f}, of KLIEP {0.5 / np.sqrt(kliep_runs):.2f}")
    means = (0, 2, 4, 6, 8, 10)
    rates = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35)
    table("outlier mean, at rate 0.1", [(f"{mu}", mu, 0.1) for mu in means], runs, kliep_runs, permutations)
    table("outlier rate, at mean 10", [(f"{eta:g}", 10, eta) for eta in rates], runs, kliep_runs, permutations)
