"""The slow, obvious twins of the solvers: plain loops over sigma, lam and fold, one solve each; all pairs of rows.

Written from the equations; takes from the library only the draw of centers and folds, since that is a convention,
and the radial table, which has its own test against quadrature.
"""

import itertools

import numpy as np

from densdiff.core.radial import interpolate, plain_and_squared, radial_table


def psi(rows, centers, sigma):
    """exp(-|x - c|^2 / (2 sigma^2)) by direct differences, (k, b)."""
    differences = rows[:, None, :] - centers[None, :, :]
    return np.exp(-np.square(differences).sum(axis=2) / (2 * sigma**2))


def gram(centers, sigma):
    differences = centers[:, None, :] - centers[None, :, :]
    return np.exp(-np.square(differences).sum(axis=2) / (4 * sigma**2))


def volume(sigma, d):
    return (np.pi * sigma**2) ** (d / 2)


def fold_scores(x, y, centers, sigma, lam, folds_x, folds_y, curve=(1.0, -1.0)):
    """Hold-out score of each fold label (docs/math, The score); folds may differ in size between the samples.

    ``curve`` are the factors of p and q: (1, -1) is the difference, (1, 0) and (0, 1) are the densities of E9.
    """
    s, b = volume(sigma, x.shape[1]), len(centers)
    H = s * gram(centers, sigma)
    psi_x, psi_y = psi(x, centers, sigma), psi(y, centers, sigma)
    scores = []
    for fold in range(folds_x.max() + 1):
        out_x, out_y = folds_x == fold, folds_y == fold
        train = curve[0] * psi_x[~out_x].mean(0) + curve[1] * psi_y[~out_y].mean(0)
        held = curve[0] * psi_x[out_x].mean(0) + curve[1] * psi_y[out_y].mean(0)
        theta = np.linalg.solve(H + lam * s * np.eye(b), train)
        scores.append(theta @ H @ theta - 2 * theta @ held)
    return np.array(scores)


def estimates(x, y, centers, sigma, lam, curve=(1.0, -1.0)):
    """theta and E4 to E7 as docs/math writes them, without any of its algebra."""
    s, b = volume(sigma, x.shape[1]), len(centers)
    H = s * gram(centers, sigma)
    psi_x, psi_y = psi(x, centers, sigma), psi(y, centers, sigma)
    h = curve[0] * psi_x.mean(0) + curve[1] * psi_y.mean(0)
    inverse = np.linalg.inv(H + lam * s * np.eye(b))
    theta = inverse @ h
    covariances = [np.cov(part.T).reshape(b, b) / len(part) for part in (psi_x, psi_y)]
    S = curve[0] ** 2 * covariances[0] + curve[1] ** 2 * covariances[1]
    M = inverse + lam * s * inverse @ inverse
    corrected = 2 * h @ theta - theta @ H @ theta
    return {
        "theta": theta,
        "h_theta": h @ theta,
        "theta_H_theta": theta @ H @ theta,
        "regularization_corrected": corrected,
        "debiased": corrected - np.trace(M @ S),
    }


def fold_labels(members, groups):
    """Fold of each row in each repeat, (repeats, n), from the library's groups and their membership of folds."""
    owner = members[:, groups]  # (folds * repeats, n)
    folds = round(members.shape[0] / members.sum(axis=0)[0])
    return owner.reshape(-1, folds, owner.shape[1]).argmax(axis=1)


def standardized(x, y):
    """Both samples by pooled mean and deviation (docs/math, Units), and the deviations."""
    pooled = np.concatenate([x, y])
    mean, deviation = pooled.mean(axis=0), pooled.std(axis=0)
    return (x - mean) / deviation, (y - mean) / deviation, deviation


def score_table(x, y, centers, models, labels, curve=(1.0, -1.0)):
    """Hold-out scores of all (sigma, lam), repeats and folds: (models, repeats * folds), one solve each."""
    return np.array(
        [
            np.concatenate([fold_scores(x, y, centers, *model, *repeat, curve) for repeat in zip(*labels, strict=True)])
            for model in models
        ]
    )


def averaged_debiased(x, y, centers, models, table, folds, curve=(1.0, -1.0)):
    """E7 averaged with weights exp(-(CV - min) / (.25 se)), those below 1e-3 left out (docs/math, The average)."""
    mean = table.mean(axis=1)
    best = int(np.argmin(mean))
    error = table[best].std(ddof=1) / np.sqrt(folds)
    weights = np.exp(-(mean - mean[best]) / (0.25 * error))
    kept = np.flatnonzero(weights >= 1e-3)
    values = [estimates(x, y, centers, *models[i], curve)["debiased"] for i in kept]
    return np.average(values, weights=weights[kept])


def filter_kernels(distances, sigma, lam, d):
    """K_F and K_FF of E15 at the distances, in units of density, from the library's table (tested in test_pairs)."""
    table = radial_table(d, np.array([lam]))
    volume = (2 * np.pi * sigma**2) ** (d / 2)
    plain, squared = interpolate(plain_and_squared(table, 0), np.asarray(distances) / sigma)
    return plain / volume, squared / volume


def signed_weights(omega_x, omega_y, curve=(1.0, -1.0)):
    return np.concatenate([curve[0] * omega_x, curve[1] * omega_y])


def distances(a, b):
    return np.sqrt(np.square(a[:, None, :] - b[None, :, :]).sum(axis=2))


def filter_estimates(x, y, omega_x, omega_y, sigma, lam, curve=(1.0, -1.0)):
    """The twins of E4 to E7 as double sums over all pairs (E15); weights sum to 1 in each sample."""
    rows = np.concatenate([x, y])
    kernels = filter_kernels(distances(rows, rows), sigma, lam, x.shape[1])
    return kernel_estimates(*kernels, omega_x, omega_y, curve)


def kernel_estimates(plain, squared, omega_x, omega_y, curve=(1.0, -1.0)):
    """The twins of E4 to E7 from K_F and K_FF between all rows, X before Y."""
    weights, n = signed_weights(omega_x, omega_y, curve), len(omega_x)
    test_kernel = 2 * plain - squared
    unbiased = 2 * curve[0] * curve[1] * omega_x @ test_kernel[:n, n:] @ omega_y
    for factor, omega, block in (
        (curve[0], omega_x, test_kernel[:n, :n]),
        (curve[1], omega_y, test_kernel[n:, n:]),
    ):
        pairs = np.outer(omega, omega)
        np.fill_diagonal(pairs, 0.0)
        unbiased += factor**2 * (pairs * block).sum() / pairs.sum()  # a U-statistic
    return {
        "h_theta": weights @ plain @ weights,
        "theta_H_theta": weights @ squared @ weights,
        "regularization_corrected": weights @ test_kernel @ weights,
        "debiased": unbiased,
    }


def filter_scores(x, y, omega_x, omega_y, sigma, lam, members, groups, curve=(1.0, -1.0)):
    """E14 of every fold as double sums over the training and the hold-out rows, and the sums of |terms|: (2, folds)."""
    rows = np.concatenate([x, y])
    kernels = filter_kernels(distances(rows, rows), sigma, lam, x.shape[1])
    return kernel_scores(*kernels, (omega_x, omega_y), members, groups, curve)


def kernel_scores(plain, squared, omegas, members, groups, curve=(1.0, -1.0)):
    """E14 of every fold from K_F and K_FF between all rows, X before Y, and the sums of |terms|: (2, folds)."""
    scores = []
    for member in members:
        parts = []
        for held in (0.0, 1.0):
            shares = [omega * (member[g] == held) for omega, g in zip(omegas, groups, strict=True)]
            parts.append(signed_weights(*(share / share.sum() for share in shares), curve))
        train, holdout = parts
        terms = np.outer(train, train) * squared - 2 * np.outer(train, holdout) * plain
        scores.append([terms.sum(), np.abs(terms).sum()])
    return np.array(scores).T


def filter_curve(points, x, y, omega_x, omega_y, sigma, lam, curve=(1.0, -1.0)):
    """f at the points as the plain sum of E15, (k,)."""
    rows = np.concatenate([x, y])
    plain, _ = filter_kernels(distances(points, rows), sigma, lam, x.shape[1])
    return plain @ signed_weights(omega_x, omega_y, curve)


def mixed_kernels(a, b, levels, steps, ratio, sigma, lam):
    """K_F and K_FF of E16 between rows, numbers first and codes last, in units of density, summed over all subsets."""
    d = a.shape[1] - len(levels)
    agree = (a[:, None, d:] == b[None, :, d:]).astype(float)
    plain, squared = np.zeros((2, len(a), len(b)))
    for subset in itertools.product([False, True], repeat=len(levels)):
        t = sum(step for step, taken in zip(steps, subset, strict=True) if taken)
        factor = np.ones((len(a), len(b)))
        for j, taken in enumerate(subset):
            factor *= agree[:, :, j] - 1 / levels[j] if taken else 1 / levels[j]
        kernels = filter_kernels(distances(a[:, :d], b[:, :d]), sigma, lam * ratio ** -float(t), d)
        plain += factor * kernels[0]
        squared += factor * kernels[1]
    return plain, squared


def named_forms(form):
    """The forms of a model under the names of the raw estimates."""
    return {
        "h_theta": form.plain,
        "theta_H_theta": form.plain - form.lam_term,
        "regularization_corrected": form.plain + form.lam_term,
        "debiased": form.plain + form.lam_term - form.correction,
    }
