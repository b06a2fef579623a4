"""What a person sees of attacks in the terminal."""

from pathlib import Path

from rich.markup import escape
from rich.table import Table

from flows.attack import audit_and_attack
from flows.terminal import TERMINAL, print_cells, print_outcomes, progress_shown
from tasks.config import Evaluation
from tasks.errors import StepError
from tasks.read_config import read_config
from tasks.reports.pictures import visible_text
from tasks.reports.report_attacks import Attacked, Rate, TriedAttack
from validations.gate import Verdict

HEADINGS = ("attack", "about", "succeeded", "otherwise", "gain", "beyond chance")


def attack_and_print(
    folder: Path, config: Path, store: Path | None, public_key: Path | None, targets: int | None
) -> Verdict:
    """Check and attack a published folder, and print first the promises, then the attacks.

    Parameters
    ----------
    folder
        A published folder.
    config
        The configuration that names its original table.
    store
        The private store of the run, if it was kept.
    public_key
        The key that is to have signed the folder.
    targets
        How many records are aimed at; the configured number unless given.

    Raises
    ------
    StepError
        If every promise holds but the attacks could not be tried.
    """
    asked = read_config(config, [])
    number = targets or asked.evaluation.attacks or Evaluation().attacks
    evaluation = asked.evaluation.model_copy(update={"attacks": number})
    with progress_shown():
        verdict, attacked = audit_and_attack(
            folder, asked.model_copy(update={"evaluation": evaluation}), store, public_key
        )
    print_outcomes(verdict.promises)
    print_attacks(attacked)
    if attacked.failure is not None and verdict.success:
        raise StepError(f"the attacks could not be tried ({attacked.failure})")
    return verdict


def print_attacks(attacked: Attacked) -> None:
    """Print how often each attack succeeded, and its baseline; a line each in a pipe."""
    if not TERMINAL.is_terminal:
        for each in attacked.attacks:
            name, subject, *figures = _cells(each)
            told = [f"{heading}: {text}" for heading, text in zip(HEADINGS[2:], figures, strict=True)]
            print_cells(name, subject, *told)
        return
    table = Table(box=None, pad_edge=False)
    for heading in HEADINGS:
        table.add_column(heading, overflow="fold")
    for each in attacked.attacks:
        table.add_row(*map(escape, _cells(each)))
    TERMINAL.print(table)


def _cells(each: TriedAttack) -> tuple[str, ...]:
    rates = (_in_words(rate, drawn=each.drawn) for rate in (each.success, each.baseline))
    gain = f"{each.excess:.1%}" + _interval(each.excess_low, each.excess_high, drawn=each.drawn)
    return each.name, visible_text(each.subject), *rates, gain, "yes" if each.gained else "no"


def _in_words(rate: Rate, *, drawn: bool) -> str:
    return f"{rate.successes:,} of {rate.attempts:,}" + _interval(rate.low, rate.high, drawn=drawn)


def _interval(low: float, high: float, *, drawn: bool) -> str:
    """Return an interval where something was drawn; where nothing was, it would tell of nothing."""
    return f" ({low:.1%} to {high:.1%})" if drawn else ""
