"""Made-up utility: what the report tells of."""

import numpy as np

from tasks.reports.report_utility import FeatureUtility, PairUtility, Utility


def made_up_utility(features, fragments=2):
    random = np.random.default_rng(11)
    before = random.gamma(1.0, 0.15, len(features))
    kept, distances = random.beta(6, 3, len(features)), random.beta(2, 10, len(features))
    shifts, ratios = random.normal(0, 0.1, len(features)), random.normal(1.1, 0.1, len(features))
    numeric = [place % 5 != 4 for place in range(len(features))]
    return Utility(
        tuple(
            FeatureUtility(
                name,
                float(before[i]),
                float(before[i] * kept[i] * 1.2),
                float(distances[i]),
                float(shifts[i]) if numeric[i] else None,
                float(ratios[i]) if numeric[i] else None,
            )
            for i, name in enumerate(features)
        ),
        tuple(
            PairUtility(number, 91, 0.21 / number, 0.08 / number)
            for number in range(1, fragments + 1)
            if len(features) >= 2 * fragments
        ),
        tuple(0.002 * number for number in range(fragments)),
    )
