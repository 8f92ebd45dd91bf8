"""Calls in several threads at once give what each gives alone: nothing that they share changes."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np

import densdiff as dd


def test_calls_in_threads_give_the_bits_of_calls_in_a_row():
    def ask(seed, start=None):
        if start is not None:
            start.wait()  # all begin at once
        pair = dd.datasets.gaussian_shift(0.4, d=1 + seed % 3, n=60, random_state=seed)
        distance = dd.l2_distance(pair.x, pair.y, random_state=seed)
        test = dd.two_sample_test(pair.x, pair.y, n_permutations=39, random_state=seed)
        return (
            distance.to_json(),
            test.to_json(),
            dd.LSDD(random_state=seed).fit(pair.x, pair.y).predict(pair.x).tobytes(),
        )

    expected = [ask(seed) for seed in range(6)]
    start = Barrier(6)
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(lambda seed: ask(seed, start), range(6))) == expected


def test_one_fitted_model_answers_many_threads():
    pair = dd.datasets.gaussian_shift(0.4, d=2, n=80, random_state=0)
    model = dd.LSDD(random_state=0).fit(pair.x, pair.y)
    points = [pair.x[k : k + 10] for k in range(0, 80, 10)]
    expected = [(model.predict(rows), model.confidence_band(rows).lower) for rows in points]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda rows: (model.predict(rows), model.confidence_band(rows).lower), points))
    for answer, alone in zip(answers, expected, strict=True):
        np.testing.assert_array_equal(answer, alone)
