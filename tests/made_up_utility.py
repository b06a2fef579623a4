"""Made-up utility: what the report tells of."""

import numpy as np

from tasks.reports.coarse import coarse
from tasks.reports.report_utility import FeatureUtility, PairUtility, Utility

STEP = 0.005


def made_up_utility(features, fragments=2):
    random = np.random.default_rng(11)
    before = random.gamma(1.0, 0.15, len(features))
    kept, distances = random.beta(6, 3, len(features)), random.beta(2, 10, len(features))
    return Utility(
        STEP,
        tuple(
            FeatureUtility(
                name,
                coarse(before[i], STEP),
                coarse(before[i] * kept[i] * 1.2, STEP),
                coarse(distances[i], STEP),
            )
            for i, name in enumerate(features)
        ),
        tuple(
            PairUtility(number, 91, 0.21 / number, 0.08 / number)
            for number in range(1, fragments + 1)
            if len(features) >= 2 * fragments
        ),
        tuple(STEP * number for number in range(fragments)),
    )
