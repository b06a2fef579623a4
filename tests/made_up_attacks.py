"""Attacks as they could come out, for tests of the report."""

import itertools

from tasks.reports.report_attacks import Attacked, CandidateRows, Rate, TriedAttack


def made_up_rate(share, attempts=1000):
    successes = round(share * attempts)
    value = successes / attempts
    return Rate(successes, attempts, value, max(0.0, value - 0.02), min(1.0, value + 0.02))


def made_up_attack(name, subject, success, baseline):
    excess = max(0.0, success - baseline) / (1 - baseline)
    bounds = max(0.0, excess - 0.04), min(1.0, excess + 0.04)
    rates = made_up_rate(success), made_up_rate(baseline)
    more = rates[0].successes - rates[1].successes
    differing = max(more, 0) + 3, max(-more, 0) + 3
    gained = success - baseline > 0.05
    return TriedAttack(name, subject, *rates, *differing, excess, *bounds, gained, every_record=False)


def made_up_attacks(fragments=2, sensitive=(), failure=None, *, every_record=False):
    """Return attacks on a release of some fragments with some sensitive attributes, or their failure."""
    if failure is not None:
        return Attacked((), (), failure)
    numbers = range(1, fragments + 1)
    attacks = [
        made_up_attack("class_join", "class, certain", 0.251, 0.25),
        *[made_up_attack("class_join", "isolated", 0.0, 0.0)] * (fragments > 1),
        made_up_attack("inference", "class", 0.82, 0.71),
        *(made_up_attack("inference", name, 0.4, 0.39) for name in sensitive),
        *[made_up_attack("position", "all fragments", 0.004, 0.003)] * (fragments > 1),
    ]
    pairs = itertools.product(itertools.combinations(numbers, 2), ("", ", 40 nearest rows"))
    attacks += [
        made_up_attack("linkage", f"fragments {one} and {other}{nearest}", 0.02, 0.02)
        for (one, other), nearest in pairs
    ]
    rows = [CandidateRows(number, 40.0, 44.0, 51.0, 60.5, 79.0) for number in numbers]
    rows += [CandidateRows(None, 0.0, 120.0, 310.0, 800.0, 4100.0)] * (fragments > 1)
    return Attacked(tuple(each._replace(every_record=every_record) for each in attacks), tuple(rows))
