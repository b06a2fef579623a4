"""Made-up risks: what the report tells of."""

from itertools import combinations

from tasks.risks.figures import Bin, ClassRevealed, Membership, Reidentification, Risks, Spread


def spread(largest):
    return Spread(*(largest * part for part in (0.5, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.0)))


def bins(*shares):
    bounds = (1, 1), (2, 4), (5, 9), (10, 19), (20, 49), (50, 99), (100, 999), (1000, 9999), (10_000, 99_999)
    return tuple(Bin(*bound, share) for bound, share in zip(bounds, shares, strict=False))


def part(fragments, population):
    alone = len(fragments) == 1
    largest = 1 / 41 if alone else 1 / (57 * 8 ** (len(fragments) - 2))
    shares = (0, 0, 0, 0, 0.6214, 0.3786) if alone else (0, 0, 0, 0, 0, 0.0004, 0.6512, 0.31, 0.0384)
    return Reidentification(
        fragments=fragments,
        prosecutor=spread(largest),
        journalist=spread(largest if population is None else largest / 11),
        marketer=largest / 2,
        unique=0,
        candidates=bins(*shares),
    )


def made_up_risks(fragments=2, population=None):
    numbers = range(1, fragments + 1)
    parts = [*combinations(numbers, 1), *combinations(numbers, 2)]
    parts += [tuple(numbers)] if fragments > 2 else []
    revealed = [
        ClassRevealed("prior", None, Spread(*[0.6274] * 8), 1.0, 0.0, 0.0, 0.6274),
        ClassRevealed("fragment", 1, spread(0.97), 0.9123, 0.2512, 0.0003, 0.8821),
        ClassRevealed("combination", None, spread(1.0), 0.9874, 0.7201, 0.3104, 0.9315),
    ]
    return Risks(
        population=population,
        reidentification=tuple(part(fragments, population) for fragments in parts),
        membership=Membership(569, spread(0.004)) if fragments > 1 else None,
        revealed=tuple(revealed[: 2 if fragments == 1 else 3]),
    )
