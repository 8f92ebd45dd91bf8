"""The slow, obvious twin of the centers solver: plain loops over sigma, lam and fold, one solve each.

Written from the equations; takes only the draw of centers and folds from the library, since that is a convention.
"""

import numpy as np


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
    """Hold-out score of each fold label (DESIGN 1.4); folds may differ in size between the samples.

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
    """theta and E4 to E7 as the design writes them, without any of its algebra."""
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
    """Both samples by pooled mean and deviation (DESIGN 1.5), and the deviations."""
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
    """E7 averaged with weights exp(-(CV - min) / (.25 se)), those below 1e-3 left out (DESIGN 1.2)."""
    mean = table.mean(axis=1)
    best = int(np.argmin(mean))
    error = table[best].std(ddof=1) / np.sqrt(folds)
    weights = np.exp(-(mean - mean[best]) / (0.25 * error))
    kept = np.flatnonzero(weights >= 1e-3)
    values = [estimates(x, y, centers, *models[i], curve)["debiased"] for i in kept]
    return np.average(values, weights=weights[kept])
