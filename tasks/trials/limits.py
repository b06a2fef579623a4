"""Whether a trial costs more than a release may."""

from tasks.config import Limits
from tasks.trials.trial import Trial


def beyond_limits(trial: Trial, limits: Limits) -> str:
    """Return which limit a trial exceeds, in a few words; empty if none."""
    if limits.max_information_loss is not None and trial.information_loss > limits.max_information_loss:
        return "above limits.max_information_loss"
    if limits.max_changed_class_values is not None and trial.changed > limits.max_changed_class_values:
        return "above limits.max_changed_class_values"
    return ""
