"""How two texts are compared: token F1, exact match, and a paired bootstrap over the things measured."""

import random
import re
from collections import Counter
from collections.abc import Sequence

_STOP_LIST = "a an and are as at be by for from in is it of on or that the this to was were which with"
_STOP_WORDS = frozenset(_STOP_LIST.split())
_RESAMPLES = 2000
_SEED = 20260101


def tokens(text: str) -> Counter[str]:
    """Words in lower case, stop words off, a plural s off."""
    words = re.findall(r"[^\W_]+", text.lower())
    return Counter(_singular(word) for word in words if word not in _STOP_WORDS)


def f1(said: str, gold: str) -> float:
    """Harmonic mean of precision and recall over words as a bag; a missing answer is 0."""
    mine, theirs = tokens(said), tokens(gold)
    common = sum((mine & theirs).values())
    return 2 * common / (sum(mine.values()) + sum(theirs.values())) if common else 0.0


def exact(said: str, gold: str) -> float:
    """1 where both are the same text but for case and white space."""
    return float(said.lower().split() == gold.lower().split())


def mean(values: Sequence[float]) -> float:
    """0 for nothing."""
    return sum(values) / len(values) if values else 0.0


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """The middle 95 % of the mean of paired differences over resamples of what was measured."""
    if not differences:
        return 0.0, 0.0
    chance = random.Random(_SEED)
    means = sorted(mean(chance.choices(differences, k=len(differences))) for _ in range(_RESAMPLES))
    return means[int(0.025 * _RESAMPLES)], means[int(0.975 * _RESAMPLES) - 1]


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
