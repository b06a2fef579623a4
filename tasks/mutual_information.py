"""Step: how much every two columns tell of each other (paper, section 3.2).

Joint counts of many pairs come from few passes: columns are packed into groups whose joint
values still fit a small table, and one count over two groups holds the tables of all pairs
of columns between them.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tasks.config import Config
from tasks.information.groups import CELLS_PER_GROUP, Bins, Group, Matrix, pack
from tasks.steps import step
from tasks.store import open_store
from tasks.tables import read_columns, read_domains, read_sensitive_domains, write_matrix
from tasks.worker_processes import available_cores

WORTH_COMPILING = 10**9  # records times pairs of groups: seconds of plain counts


def discretise(codes: Bins, size: int, *, numeric: bool, missing: bool, bins: int) -> Bins:
    """Return each row's bin: equal-frequency bins of numbers, the categories themselves.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Ranks of the values; code 0 is missing where `missing` is set.
    size
        The number of codes.
    numeric
        Whether the column is numeric.
    missing
        Whether code 0 stands for missing, which is a bin of its own.
    bins
        The number of bins wanted; fewer come out where quantiles coincide.

    Returns
    -------
    ndarray of shape (n,)
        Bin numbers from 0 without gaps.
    """
    if not numeric:
        return codes.astype(np.int32)
    binned: Bins = bins_of_codes(np.bincount(codes, minlength=size), missing=missing, bins=bins)[codes]
    return binned


def bins_of_codes(occurrences: npt.NDArray[np.intp], *, missing: bool, bins: int) -> Bins:
    """Return the equal-frequency bin of each code of a numeric column.

    Parameters
    ----------
    occurrences : ndarray of shape (codes,)
        How often each code occurs, in records.
    missing, bins
        See `discretise`.

    Returns
    -------
    ndarray of shape (codes,)
        Bin numbers from 0 without gaps, ascending.
    """
    counted = occurrences.copy()
    if missing:
        counted[0] = 0
    below = np.cumsum(counted) - counted
    bin_of_code = below * bins // max(int(counted.sum()), 1)
    if missing:
        bin_of_code[0] = -1
    _, bin_of_code = np.unique(bin_of_code, return_inverse=True)
    numbered: Bins = bin_of_code.astype(np.int32)
    return numbered


def mutual_information_matrix(columns: Sequence[Bins]) -> Matrix:
    """Return the mutual information of every two columns, in nats.

    The plug-in estimate over joint frequencies, I(x, y) = H(x) + H(y) - H(x, y); the diagonal
    holds the entropies (paper, section 4.1: the matrix MI).

    Parameters
    ----------
    columns : sequence of ndarray of shape (n,)
        Bin numbers from 0.

    Returns
    -------
    ndarray of shape (columns, columns)
        Symmetric, not negative.
    """
    sizes = [int(column.max()) + 1 for column in columns]
    joint_entropy = np.zeros((len(columns), len(columns)))
    groups = [Group(members, columns, sizes) for members in pack(sizes)]
    with ThreadPoolExecutor(available_cores()) as counters:
        for first, others, entropies in _counted(groups, counters):
            members = [member for second in others for member in second.members]
            joint_entropy[np.ix_(first.members, members)] = entropies
            joint_entropy[np.ix_(members, first.members)] = entropies.T
    joint_entropy = np.triu(joint_entropy) + np.triu(joint_entropy, 1).T
    entropy = joint_entropy.diagonal()
    information = entropy[:, None] + entropy[None, :] - joint_entropy
    return np.maximum(information, 0.0)


def _counted(groups: Sequence[Group], counters: Executor) -> Iterator[tuple[Group, Sequence[Group], Matrix]]:
    """Yield the joint entropies of each group with itself and all that follow it.

    Groups come with the largest first, so those of few joint values are together at the end.
    """
    large = sum(group.cells > CELLS_PER_GROUP for group in groups)
    small = groups[large:]
    if len(small) ** 2 // 2 * len(groups[0].rows) < WORTH_COMPILING:
        large, small = len(groups), []
    plain = [groups[place:] for place in range(large)]
    yield from zip(groups[:large], plain, counters.map(Group.joint_entropies, groups, plain), strict=True)
    if small:
        from tasks.information.compiled_counts import StackedGroups  # noqa: PLC0415 - see `tasks.compiled`

        stacked = StackedGroups(small)
        followers = [small[place:] for place in range(len(small))]
        entropies = counters.map(stacked.joint_entropies, range(len(small)))
        yield from zip(small, followers, entropies, strict=True)


def _narrow(bins: Bins) -> Bins:
    """Return bins in the narrowest type that holds them: all columns are in memory at once."""
    return bins.astype(np.min_scalar_type(int(bins.max())))


@step("measure mutual information")
def measure_mutual_information(store: Path, config: Config) -> int:
    """Store the mutual information of every two columns; return how many pairs there are."""
    with open_store(store) as connection:
        features, class_domain = read_domains(connection)
        domains = [*features, *read_sensitive_domains(connection), class_domain]
        columns = [
            _narrow(
                discretise(
                    codes,
                    domain.size,
                    numeric=domain.numeric,
                    missing=domain.missing,
                    bins=config.fragmentation.bins,
                )
            )
            for codes, domain in zip(read_columns(connection, domains), domains, strict=True)
        ]
        matrix = mutual_information_matrix(columns)
        write_matrix(connection, [domain.name for domain in domains], matrix)
    return len(domains) * (len(domains) - 1) // 2
