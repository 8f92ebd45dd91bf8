"""What has fit(X, y) beside scikit-learn: its own checks with every exception explained, pipelines and searches."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import densdiff as dd

# Messages are ours (CONTRIBUTING): they name the column and the row, and what to do.
WORDS = dict.fromkeys(
    [
        "check_n_features_in_after_fitting",
        "check_all_zero_sample_weights_error",
        "check_complex_data",
        "check_dtype_object",
        "check_estimators_empty_data_messages",
        "check_estimators_nan_inf",
        "check_fit2d_predict1d",
    ],
    "refused, in words other than scikit-learn's",
) | {"check_fit1d": "one-dimensional data is one column"}
CHECKED = {
    "LeastSquaresClassifier": (
        dd.LeastSquaresClassifier(sigma=[1.0, 2.0], lam=[0.1, 1.0], random_state=0),
        WORDS
        | {
            "check_requires_y_none": "refused, in words other than scikit-learn's",
            "check_supervised_y_2d": "a column of labels is read without a warning",
            "check_sample_weight_equivalence_on_dense_data": "scale, widths and lam count rows, not weights",
        },
    ),
    "PriorShiftClassifier": (dd.PriorShiftClassifier(LogisticRegression()), {}),
    "ClassBalance": (
        dd.ClassBalance(random_state=0),
        WORDS
        | {
            "check_sample_weight_equivalence_on_dense_data": "a class needs two rows of positive weight",
            "check_methods_sample_order_invariance": "predicts the shares of a sample, not a value for each row",
            "check_methods_subset_invariance": "a sample has at least two rows, and its shares are not those of a part",
        },
    ),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.EstimatorCheckFailedWarning")
@pytest.mark.filterwarnings("ignore::densdiff.DensDiffWarning")
@pytest.mark.parametrize("name", CHECKED)
def test_scikit_learns_own_checks_pass_but_for_the_explained_ones(name):
    model, expected = CHECKED[name]
    results = check_estimator(model, expected_failed_checks=expected, on_fail=None, on_skip=None)
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert failed == {}
    assert {result["check_name"] for result in results if result["status"] == "xfail"} == set(expected)


def labelled(seed=0, n=30):
    random = np.random.default_rng(seed)
    y = np.repeat(["ill", "well"], n)
    return random.normal(size=(2 * n, 2)) + 2.0 * (y == "well")[:, None], y, random.normal(size=(n, 2)) + 2.0


def test_the_classifier_ends_a_pipeline_and_is_searched_within_it():
    X, y, new = labelled()
    pipe = make_pipeline(StandardScaler(), dd.LeastSquaresClassifier(lam=0.1, random_state=0))
    search = GridSearchCV(pipe, {"leastsquaresclassifier__sigma": [0.01, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"leastsquaresclassifier__sigma": 1.0}
    assert search.best_score_ > 0.8
    assert search.predict(new).shape == (30,)


def test_the_balance_ends_a_pipeline():
    X, y, new = labelled()
    pipe = make_pipeline(StandardScaler(), dd.ClassBalance(random_state=0)).fit(X, y)
    alone = dd.ClassBalance(random_state=0).fit(X, y)
    np.testing.assert_allclose(pipe.predict(new), alone.predict(new), atol=1e-6)
    assert pipe[-1].classes_.tolist() == ["ill", "well"]


def test_a_search_passes_unlabelled_rows_on():
    X, y, new = labelled()
    model = dd.PriorShiftClassifier(
        make_pipeline(StandardScaler(), LogisticRegression()), dd.ClassBalance(random_state=0)
    )
    grid = {"estimator__logisticregression__C": [0.1, 1.0]}
    search = GridSearchCV(model, grid, cv=2).fit(X, y, X_unlabeled=new)
    assert search.best_estimator_.balance_.priors[1] > 0.8
    assert search.best_estimator_.classes_.tolist() == ["ill", "well"]


def test_a_wrapped_classifier_takes_what_it_takes_itself():
    sparse = pytest.importorskip("scipy.sparse")
    X, y, new = labelled()
    model = dd.PriorShiftClassifier(LogisticRegression()).fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(model.predict(new), LogisticRegression().fit(X, y).predict(new))
    with pytest.raises(dd.InputError, match="sparse"):
        model.fit(sparse.csr_array(X), y, X_unlabeled=sparse.csr_array(new))
