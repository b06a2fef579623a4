"""What can go wrong, as one small family: each kind has its own exit code.

A message names the column, the rule, what was found as a kind and a count, and what to do.
It never holds a value of the data.
"""


class UnjoinError(Exception):
    """A run that could not go on, and why, in one sentence for the person who started it."""

    exit_code = 1


class GateError(UnjoinError):
    """The written files do not hold what was promised; nothing was published."""

    exit_code = 1


class ConfigurationError(UnjoinError):
    """The configuration cannot be used as it stands."""

    exit_code = 2


class InputError(UnjoinError):
    """The table cannot be used as it stands."""

    exit_code = 2


class DriftError(InputError):
    """The table is not like an earlier release of it, and was to be refused then."""


class InfeasibleError(UnjoinError):
    """No release of this table can keep what was asked."""

    exit_code = 3


class StepError(UnjoinError):
    """A step failed in a way nobody foresaw; the details stay in the private workspace."""

    exit_code = 4
