"""Which class value each record is published with, once it is settled what its person counts under."""

import numpy as np

from tasks.persons.credit import Codes, Credits, Ints


def realise(counted: Credits, classes: Codes, after: Ints) -> tuple[Credits, Codes]:
    """Let persons count under other class values, as often as wanted; return what their records show then.

    Who counts under another value takes it for all records in the equivalence class (EC) that had the one
    before. These are persons with no other value there as far as there are any, then those with the fewest
    records to change. A value under which nobody counts in an EC is not published there: its records take
    the value that their person counts under.

    Parameters
    ----------
    counted
        Under which class value persons count in each EC.
    classes : ndarray of shape (n,)
        The class value of each record.
    after : ndarray of shape (ECs, class values)
        How many persons shall count under each; as many in each EC as now.

    Returns
    -------
    settled
        What the same persons count under; each under a value that a record of that person shows in that EC.
    published : ndarray of shape (n,)
        The class value that each record shows. Those of an EC are those that persons count under there.
    """
    values = counted.values.copy()
    before = counted.counts(*after.shape)
    movers = _movers(counted, classes, np.maximum(before - after, 0))
    gained = np.maximum(after - before, 0)
    values[movers] = np.repeat(np.nonzero(gained)[1], gained[gained > 0])
    own, new = counted.values[counted.of_record], values[counted.of_record]
    published = np.where(classes == own, new, classes)
    nobodys = after[counted.ecs[counted.of_record], published] == 0
    published = np.where(nobodys, new, published)
    return counted._replace(values=values), published.astype(np.int32)


def _movers(counted: Credits, classes: Codes, lost: Ints) -> Ints:
    """Return which credits change, as many of each EC and value as it loses, by EC."""
    losing = np.flatnonzero(lost[counted.ecs, counted.values])
    records = np.bincount(counted.of_record)
    alike = classes == counted.values[counted.of_record]
    changing = np.bincount(counted.of_record[alike], minlength=len(records))
    group = (counted.ecs * lost.shape[1] + counted.values)[losing]
    others = (changing < records)[losing]
    order = np.lexsort((losing, changing[losing], others, group))
    rank = np.arange(len(order)) - np.searchsorted(group[order], group[order])
    return np.asarray(losing[order[rank < lost.ravel()[group[order]]]])
