"""LSDD: the density-difference estimator as scikit-learn knows estimators (paper 2.2)."""

from sklearn.base import BaseEstimator

from densdiff.estimators.difference import DensityDifference


class LSDD(DensityDifference, BaseEstimator):
    """Least-squares density difference.

    Estimates f(x) = p(x) - q(x) from a sample X of p and a sample Y of q by penalized least squares on
    Gaussian kernels, with sigma and lam chosen by cross-validation. `predict` averages over many of them.

    Parameters
    ----------
    sigma, lam : "cv", float or sequence of float
        Kernel width and regularization: searched over the data's own range, given, or searched over the
        sequence. sigma is in standardized units when ``standardize``; lam is the paper's lambda divided by
        (pi sigma^2)^(d/2), free of units.
    solver : {"auto", "centers", "spectral", "pairs"}
        "spectral" (up to three columns) and "pairs" solve the paper's RKHS problem exactly, on a grid and from
        pair distances, the latter with categories too, and of more than 20,000 rows from some drawn at random;
        "centers" puts Gaussian kernels on a random subset of the rows. "auto" chooses one of the first two. lam means
        something else to "centers" than to the other two, so a numeric lam needs a solver.
    n_centers : int
        With solver "centers": how many rows become kernel centers (all of them if there are fewer).
    centers : array of shape (b, d), optional
        Kernel centers in the user's units, instead of random rows.
    folds : int
        Folds of the cross-validation; two random partitions are used, at no cost in passes over the rows.
    standardize : bool
        Divide each column by its pooled standard deviation first. Results are in the user's units either way.
    random_state : None, int, Generator or RandomState
        Seed of centers and folds.

    Attributes
    ----------
    sigma_, lam_ : float
        The model with the best hold-out score.
    cv_results_ : dict of arrays
        "sigma", "lam", "smoothing" (of categories by "pairs", else 0), "mean_score", "standard_error", "rank" (k,) and
        "fold_scores" (k, folds * repeats).
    solver_ : str
    centers_ : array of shape (b, d)
        With solver "centers" only.
    theta_ : array of shape (b,)
        With solver "centers" only: ``f(x) = theta_ @ psi(x)``, in the user's units.
    samples_ : tuple of two arrays
        Some rows, evenly spaced, of samples that are not in memory.
    feature_names_ : tuple of str
    n_features_in_ : int
    seed_ : int
    fit_ : Fit
        The prepared samples, the solver and the choice, for the rest of the library.

    References
    ----------
    Sugiyama et al., "Density-Difference Estimation", arXiv 1207.0099.

    Examples
    --------
    >>> import densdiff as dd
    >>> pair = dd.datasets.gaussian_shift(mu=0.5, n=200, random_state=0)
    >>> model = dd.LSDD(random_state=0).fit(pair.x, pair.y)
    >>> model.predict([[0.5], [-0.5]]) > 0
    array([ True, False])
    """
