"""Releases side by side: which variants of a configuration to try, and what came of them."""

from collections.abc import Iterable
from itertools import product
from typing import Literal, NamedTuple, get_args

from tasks.config import Config, Guarantee, Learner, Strategy
from tasks.read_config import parse_config
from tasks.trials.trial import Trial

Split = Literal["median", "infogain"]

NUMBERS = (1, 2, 4, 8)
DELTA = 0.5
FAILED = "failed, details in the private workspace"
QUICK_RECORDS = 10_000
LEARNERS: tuple[Learner, ...] = ("tree", "neighbours")


class Variant(NamedTuple):
    """What differs between the releases that are compared."""

    strategy: Strategy
    guarantee: Guarantee
    split: Split
    fragments: int

    @property
    def keeps_records(self) -> bool:
        """Whether joins rest on k records of each equivalence class; one fragment is never joined."""
        return self.guarantee == "records" or self.fragments == 1

    @property
    def of_any_strategy(self) -> bool:
        """Whether it stands for other strategies too: one fragment has no joins, so that they do nothing.

        All but delta_selectivity, which publishes class values once per equivalence class even so.
        """
        return self.fragments == 1 and self.strategy != "delta_selectivity"


class Scope(NamedTuple):
    """How much is compared.

    Attributes
    ----------
    records
        To use at most; all if None.
    guarantees
        To try every strategy with.
    guarantees_again
        To try every strategy with once more, with the best cuts.
    most
        Fragments, unless the configuration asks for more.
    """

    records: int | None
    guarantees: tuple[Guarantee, ...]
    guarantees_again: tuple[Guarantee, ...]
    most: int


class Tried(NamedTuple):
    """What came of a variant.

    Attributes
    ----------
    variant
        What was tried.
    trial
        Its figures; None where it was refused or is infeasible.
    holds
        Whether its class counts keep what the variant promises of joins; None where there are none, or
        they are too many to be checked.
    refusal
        Why there is no trial, in a few words; else empty.
    """

    variant: Variant
    trial: Trial | None
    holds: bool | None
    refusal: str = ""


class References(NamedTuple):
    """What every variant lies between, as weighted F-measures.

    Attributes
    ----------
    raw
        Learnt from the exact values of the training records, by learner.
    majority
        Of always saying the most frequent class.
    """

    raw: dict[Learner, float]
    majority: float


class Recommendation(NamedTuple):
    """The variant to take, and what it was weighed against.

    Attributes
    ----------
    chosen
        What is recommended.
    best
        The highest mean F-measure among those that keep what is asked.
    error
        The standard error of that mean.
    able
        How many variants keep what is asked.
    stronger
        What is recommended among those that keep "records", if the chosen one keeps joins only.
    """

    chosen: Tried
    best: Tried
    error: float
    able: int
    stronger: Tried | None


class Comparison(NamedTuple):
    """A comparison as a whole.

    Attributes
    ----------
    config
        As its steward wrote it.
    learners
        The classifiers that were tried.
    training, testing
        Records that releases were made of, and that were kept out.
    references
        What every variant lies between.
    tried
        One per variant, in the order of trying.
    recommendation
        None if no variant keeps what is asked.
    """

    config: Config
    learners: tuple[Learner, ...]
    training: int
    testing: int
    references: References
    tried: tuple[Tried, ...]
    recommendation: Recommendation | None


def scope_of(config: Config, *, quick: bool) -> Scope:
    """Return how much to compare."""
    if quick:
        return Scope(QUICK_RECORDS, (config.privacy.guarantee,), (), most=4)
    return Scope(None, get_args(Guarantee), get_args(Guarantee), most=8)


def learners_of(config: Config) -> tuple[Learner, ...]:
    """Return the configured learners, or those that are tried where none is."""
    return tuple(dict.fromkeys(config.evaluation.learners)) or LEARNERS


def as_configured(config: Config, features: int) -> Variant:
    """Return the variant to start from: the configured one, with two fragments where it has one or "auto"."""
    asked = config.fragmentation.fragments
    fragments = min(2 if asked == "auto" else max(asked, 2), features)
    privacy = config.privacy
    return Variant(privacy.enforcement, privacy.guarantee, config.anonymization.split, fragments)


def strategies_beside(variant: Variant, guarantees: Iterable[Guarantee]) -> list[Variant]:
    """Return a variant with every strategy and some guarantees, which only matter to several fragments."""
    if variant.fragments == 1:
        return [variant]
    return [
        variant._replace(strategy=strategy, guarantee=guarantee)
        for guarantee, strategy in product(guarantees, get_args(Strategy))
    ]


def numbers_of_fragments(start: Variant, features: int, scope: Scope) -> list[int]:
    """Return the numbers of fragments to try: 1, 2, 4 ... as far as there are features, and the first one."""
    return sorted({*(number for number in NUMBERS if number <= min(features, scope.most)), start.fragments})


def cuts_beside(variant: Variant, numbers: Iterable[int]) -> list[Variant]:
    """Return a variant with every split and some numbers of fragments."""
    return [
        variant._replace(split=split, fragments=number) for split, number in product(get_args(Split), numbers)
    ]


def untried(variants: Iterable[Variant], tried: Iterable[Tried]) -> list[Variant]:
    """Return the variants that were not tried yet."""
    done = {one.variant for one in tried}
    return [variant for variant in variants if variant not in done]


def varied(config: Config, variant: Variant) -> Config:
    """Return the configuration of a variant.

    Raises
    ------
    ConfigurationError
        If its settings do not go together.
    """
    settings = config.model_dump()
    settings["privacy"] |= {
        "enforcement": variant.strategy,
        "guarantee": variant.guarantee,
        "delta": delta_of(config, variant),
    }
    settings["fragmentation"]["fragments"] = variant.fragments
    settings["anonymization"]["split"] = variant.split
    return parse_config(settings)


def delta_of(config: Config, variant: Variant) -> float | None:
    """Return the share of safe joins that a variant asks for, if it is of the kind that does."""
    return (config.privacy.delta or DELTA) if variant.strategy == "delta_selectivity" else None


def configured(comparison: Comparison) -> Tried | None:
    """Return what came of the configuration as it stands; None if it was not tried."""
    config, fragments = comparison.config, comparison.config.fragmentation.fragments
    if fragments == "auto":
        return None
    privacy = config.privacy
    now = Variant(privacy.enforcement, privacy.guarantee, config.anonymization.split, fragments)
    return next((one for one in comparison.tried if _same(one.variant, now)), None)


def _same(one: Variant, other: Variant) -> bool:
    """Tell whether two variants make the same release."""
    if one.fragments == other.fragments == 1:
        strategies_agree = one.of_any_strategy == other.of_any_strategy
        return strategies_agree and one.split == other.split
    return one == other
