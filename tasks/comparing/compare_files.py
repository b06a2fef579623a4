"""What a comparison leaves: its figures, its picture, and what it recommends; readable to its owner alone."""

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tasks.comparing.compare import Comparison, Tried
from tasks.comparing.compare_picture import comparison_picture
from tasks.comparing.compare_words import recommendation_in_words
from tasks.comparing.recommend import barred
from tasks.config import Config
from tasks.errors import ConfigurationError
from tasks.learning.learn import FORMS
from tasks.publish import LATEST
from tasks.reports.manifest import MANIFEST
from tasks.trials.trial import TOTAL

FIGURES, PICTURE, WORDS = "compare.csv", "compare", "compare.txt"


@contextmanager
def comparison_folder(config: Config, folder: Path) -> Iterator[Path]:
    """Make the folder of a comparison before any work; what was made and stays empty is removed.

    Raises
    ------
    ConfigurationError
        If it lies among published folders, or cannot be made.
    """
    place = folder.resolve()
    if _is_among_releases(config, place):
        raise ConfigurationError(
            f"{folder}: lies among published releases, where a comparison must not be: give another --out"
        )
    made = [part for part in (place, *place.parents) if not part.exists()]
    try:
        _make(place)
        yield folder
    finally:
        for part in made:
            with suppress(OSError):
                part.rmdir()  # unless it holds something


def _is_among_releases(config: Config, place: Path) -> bool:
    """Tell whether a folder is where this configuration publishes, or within what any has published."""
    around = (place, *place.parents)
    published = any((part / MANIFEST).exists() or (part / LATEST).is_symlink() for part in around)
    return published or config.output.directory.resolve() in around


def _make(place: Path) -> None:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"{error.filename}: cannot be made ({error.strerror})") from None


def write_comparison(comparison: Comparison, folder: Path, advice: str) -> None:
    """Write the figures, the picture and the recommendation; earlier ones of these names are replaced.

    Parameters
    ----------
    comparison
        What was found.
    folder
        Where the files go.
    advice
        How to release what is recommended, to stand below the recommendation.

    Raises
    ------
    ConfigurationError
        If the folder cannot be written.
    """
    words = "\n".join(recommendation_in_words(comparison))
    files = {
        FIGURES: figures_as_csv(comparison).encode(),
        WORDS: f"{words}\n\n{advice}".encode(),
        f"{PICTURE}.png": comparison_picture(comparison, "png"),
        f"{PICTURE}.svg": comparison_picture(comparison, "svg"),
    }
    try:
        for name, content in files.items():
            (folder / name).unlink(missing_ok=True)
            (folder / name).touch(mode=0o600)
            (folder / name).write_bytes(content)
    except OSError as error:
        raise ConfigurationError(f"{error.filename}: cannot be written ({error.strerror})") from None


def figures_as_csv(comparison: Comparison) -> str:
    """Return the figures of everything that was tried, a line each, with both forms of each F-measure."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    measures = [(learner, form) for learner in comparison.learners for form in FORMS]
    lines.writerow(
        [
            *("strategy", "guarantee", "split", "fragments", "promise_holds", "changed_class_values"),
            *("information_loss", "equivalence_classes"),
            *(f"f_{learner}_{form}" for learner, form in measures),
            *("seconds", "recommended", "note"),
        ]
    )
    lines.writerows(_line(one, comparison) for one in comparison.tried)
    lines.writerows(_reference_lines(comparison))
    return text.getvalue()


def _line(one: Tried, comparison: Comparison) -> list[str]:
    found, trial = comparison.recommendation, one.trial
    measures = [(learner, form) for learner in comparison.learners for form in FORMS]
    figures = [""] * (4 + len(measures))
    if trial is not None:
        figures = [
            f"{trial.changed:.6f}",
            f"{trial.information_loss:.6f}",
            str(trial.equivalence_classes),
            *(f"{trial.f_measures[measure]:.6f}" for measure in measures),
            f"{trial.seconds[TOTAL]:.2f}",
        ]
    holds = "" if one.holds is None else str(one.holds).lower()
    recommended = str(found is not None and one is found.chosen).lower()
    return [*map(str, one.variant), holds, *figures, recommended, barred(one, comparison.config)]


def _reference_lines(comparison: Comparison) -> Iterator[list[str]]:
    raw, majority = comparison.references
    nothing = [""] * 7
    learnt = [f"{raw[learner]:.6f}" for learner in comparison.learners for _ in FORMS]
    yield ["the table itself", *nothing, *learnt, "", "false", ""]
    yield ["majority class only", *nothing, *([f"{majority:.6f}"] * len(learnt)), "", "false", ""]
