"""How two tables are compared: level, smallest effect, permutations and seed, checked."""

from dataclasses import dataclass
from typing import Any

from densdiff.comparing.effects import MinEffect, check_effects
from densdiff.data import parameters


@dataclass(frozen=True)
class Settings:
    """What was asked of a comparison, checked."""

    alpha: float
    min_effect: MinEffect
    permutations: int
    seed: int

    @property
    def half(self) -> float:
        """The level of the joint test, and that of all columns."""
        return 0.5 * self.alpha


def check_settings(alpha: Any, min_effect: Any, n_permutations: Any, random_state: Any) -> Settings:
    """How to compare, or an error for the first argument that cannot be."""
    return Settings(
        alpha=parameters.fraction(alpha, "alpha"),
        min_effect=check_effects(min_effect),
        permutations=parameters.whole(n_permutations, "n_permutations", 1),
        seed=parameters.seed(random_state),
    )
