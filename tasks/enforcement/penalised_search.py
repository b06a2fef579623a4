"""A search for class counts that keep the guarantee with few changed records, through states that violate it.

Each violating choice has a price. Single equivalence classes (ECs) move wherever changed records and
prices together get lower; where no move is left, the choices that still violate become dearer, and
when none violates, all become cheaper, until moves pay again.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tasks.config import Guarantee
from tasks.enforcement.larger_joins import violating_larger
from tasks.enforcement.moves import Moves
from tasks.joins.class_join import Booleans, Counts, Indices, blocks_of

Numbers = npt.NDArray[np.float32]
Prices = npt.NDArray[np.float64]

CANDIDATES = 32
PRODUCT = 200_000  # of a matrix product that is not worth a second thread
PRICE, RISE, FALL = 0.03, 0.1, 0.8
LEAST_GAIN = 1e-3  # well above rounding
STEP = 20_000  # what a step costs beside the candidates it tries, counted in candidates


class Choices:
    """Choices from three or more fragments that violated the guarantee at some time, each with its price."""

    def __init__(self, fragments: int, nobody: int) -> None:
        self.nobody = nobody
        self.members = np.empty((0, fragments), dtype=np.intp)
        self.price = np.empty(0)
        self.of: list[list[int]] = [[] for _ in range(nobody + 1)]
        self.known: set[tuple[int, ...]] = set()

    def add(self, members: Sequence[Sequence[int]], price: float) -> Indices:
        """Add what is new, and return the numbers of those."""
        new = [m for m in dict.fromkeys(tuple(m) for m in members) if m not in self.known]
        self.known.update(new)
        if not new:
            return np.empty(0, dtype=np.intp)
        padded = np.full((len(new), self.members.shape[1]), self.nobody, dtype=np.intp)
        for row, choice in zip(padded, new, strict=True):
            row[: len(choice)] = choice
        numbers = np.arange(len(new)) + len(self.members)
        self.members = np.concatenate([self.members, padded])
        self.price = np.concatenate([self.price, np.full(len(new), price)])
        for number, choice in zip(numbers.tolist(), new, strict=True):
            for member in choice:
                self.of[member].append(number)
        return numbers


class PenalisedSearch:
    """Class counts of the ECs on the way, and what each of their next moves would cost."""

    def __init__(self, before: Counts, now: Counts, fragments: Indices, k: int, guarantee: Guarantee) -> None:
        self.k, self.guarantee, self.fragments = k, guarantee, fragments
        ecs, values = before.shape
        self.before = before.astype(np.float32)
        self.now = np.concatenate([now, np.full((1, values), 1 if guarantee == "join" else k)]).astype(
            np.float32
        )
        self.moves = Moves(values)
        self.owner = np.repeat(np.arange(ecs), CANDIDATES)
        self.candidates = np.zeros((values, ecs * CANDIDATES), dtype=np.float32)
        self.cost = np.full((ecs, CANDIDATES), np.inf)
        self.fine = np.zeros((ecs, CANDIDATES))
        self.apart = fragments[:, None] != fragments
        self.price = self.apart * np.float32(PRICE)
        self.larger = Choices(int(fragments.max()) + 1, ecs)
        self.work = 0

    def start(self, most: int) -> bool:
        """Look at all moves of every EC if that is less work than `most`, and return whether it is."""
        ecs = len(self.before)
        if ecs * (2 * ecs + int(self.moves.number_of_each(self.now[:-1]).sum())) >= most:
            return False
        for ec in range(ecs):
            self._refresh(ec)
        return True

    @property
    def changed(self) -> int:
        """The records that are changed now."""
        return int(self.cost[:, 0].sum())

    def descend(self, most: int) -> None:
        """Make the best move while one pays, and while no more than so much work is done."""
        while self.work < most:
            total = self.cost + self.fine
            gain = total[:, 0] - total.min(axis=1)
            ec = int(gain.argmax())
            if gain[ec] < LEAST_GAIN:
                return
            self._move(ec, int(total[ec].argmin()))

    def _move(self, ec: int, slot: int) -> None:
        old = self.now[ec].copy()
        new = self.candidates[:, ec * CANDIDATES + slot].copy()
        were, are = self._unsafe(np.stack([old, new]), self.candidates)
        differ = np.flatnonzero(were != are)
        changes = self.price[ec, self.owner[differ]] * np.where(are[differ], 1, -1)
        self.fine.reshape(-1)[differ] += changes
        self.work += len(are) + STEP
        numbers = np.array(self.larger.of[ec], dtype=np.intp)
        self.now[ec] = new
        if len(numbers):
            self._update_larger(numbers, ec, old)
        self._refresh(ec)

    def _violating(self) -> tuple[Indices, Indices]:
        """Return the violating pairs, in both orders, and the known larger choices that violate."""
        pairs = self._unsafe(self.now[:-1], self.now[:-1].T) & self.apart
        members = self.now[self.larger.members]
        if self.guarantee == "join":
            joined = members.prod(axis=1).sum(axis=1)
            larger = (joined > 0) & (joined < self.k)
        else:
            common = np.asarray((members > 0).all(axis=1))
            records = (members * common[:, None, :]).sum(axis=2).min(axis=1)
            larger = (records > 0) & (records < self.k)
        return np.argwhere(pairs), np.flatnonzero(larger)

    def violating_larger(self) -> list[list[int]]:
        """Return choices from three or more fragments that violate the join condition, if any do."""
        return violating_larger(self.now[:-1], self.fragments, self.k)

    def raise_prices(self) -> bool:
        """Make the violating choices dearer, and return whether there are any.

        The EC that pays most looks at all its moves again: not all of them are kept as candidates.
        """
        pairs, larger = self._violating()
        self.work += len(self.before) ** 2 + STEP
        if len(pairs):
            ecs, others = pairs.T
            self.price[ecs, others] += RISE
            starts = np.flatnonzero(np.diff(ecs, prepend=-1))
            for ec, group in zip(ecs[starts], np.split(others, starts[1:]), strict=True):
                own = self.candidates[:, ec * CANDIDATES : (ec + 1) * CANDIDATES]
                self.fine[ec] += RISE * self._unsafe(self.now[group], own).sum(axis=0)
        self.larger.price[larger] += RISE
        self._add_larger(larger, np.full(len(larger), RISE))
        if len(pairs) or len(larger):
            self._refresh(int(self.fine[:, 0].argmax()))
            return True
        return False

    def lower_prices(self) -> None:
        """Make all violating choices cheaper."""
        self.price *= FALL
        self.larger.price *= FALL
        self.fine *= FALL

    def learn(self, members: Sequence[Sequence[int]]) -> bool:
        """Give choices from three or more fragments a price from now on, and return whether any had none."""
        numbers = self.larger.add(members, RISE)
        self._add_larger(numbers, self.larger.price[numbers])
        return len(numbers) > 0

    def _add_larger(self, numbers: Indices, prices: Prices) -> None:
        """Add prices to the candidates of members that leave the choices violating."""
        rows, ecs, rest = self._rests(numbers, self.larger.nobody)
        unsafe = self._larger_unsafe(self._candidates_of(ecs), self.now[rest])
        np.add.at(self.fine, ecs, unsafe * prices[rows, None])
        self.work += unsafe.size

    def _update_larger(self, numbers: Indices, mover: int, old: Numbers) -> None:
        """Bring the prices of candidates up to date with a move, for choices that have the mover."""
        rows, ecs, rest = self._rests(numbers, mover)
        after = self.now[rest]
        before = np.where((rest == mover)[:, :, None], old, after)
        differ = np.flatnonzero((self._capped(after) != self._capped(before)).any(axis=1))
        own = self._candidates_of(ecs[differ])
        was, now = self._larger_unsafe(own, before[differ]), self._larger_unsafe(own, after[differ])
        change = now.astype(np.int8) - was
        np.add.at(self.fine, ecs[differ], change * self.larger.price[numbers[rows[differ]], None])
        self.work += 2 * change.size

    def _rests(self, numbers: Indices, mover: int) -> tuple[Indices, Indices, Indices]:
        """Return each member but the mover of some choices: which choice, which EC, and the other members."""
        members = self.larger.members[numbers]
        rows, places = np.nonzero((members != self.larger.nobody) & (members != mover))
        rest = members[rows]
        rest[np.arange(len(rows)), places] = self.larger.nobody
        return rows, members[rows, places], rest

    def _candidates_of(self, ecs: Indices) -> Numbers:
        by_ec = self.candidates.reshape(len(self.candidates), -1, CANDIDATES)
        return by_ec[:, ecs].transpose(1, 2, 0)

    def _capped(self, members: Numbers) -> Numbers:
        """Return what a further member's safety depends on: products up to k, or all counts."""
        if self.guarantee == "join":
            return np.asarray(np.minimum(members.prod(axis=1), self.k))
        return members.reshape(len(members), -1)

    def _refresh(self, ec: int) -> None:
        counts = self.now[ec]
        found = np.concatenate([counts[None], self.before[ec][None], self.moves.from_counts(counts)])
        cost = np.maximum(self.before[ec] - found, 0).sum(axis=1).astype(np.float64)
        fine = self._fine(found, ec)
        self.work += len(found) * len(self.before)
        if len(found) > CANDIDATES:
            total = cost + fine
            total[0] = -1
            best = np.argpartition(total, CANDIDATES - 1)[:CANDIDATES]
            best.sort()
            found, cost, fine = found[best], cost[best], fine[best]
        start = ec * CANDIDATES
        self.candidates[:, start : start + len(found)] = found.T
        self.candidates[:, start + len(found) : start + CANDIDATES] = 0
        self.cost[ec] = np.inf
        self.cost[ec, : len(found)] = cost
        self.fine[ec] = 0
        self.fine[ec, : len(found)] = fine

    def _fine(self, found: Numbers, ec: int) -> Prices:
        """Return the prices of all choices that violate if an EC has some class counts."""
        fine = np.empty(len(found))
        numbers = np.array(self.larger.of[ec], dtype=np.intp)
        rest = self.larger.members[numbers]
        rest[rest == ec] = self.larger.nobody
        for block in blocks_of(len(found), max(len(self.before), len(numbers) * found.shape[1])):
            fine[block] = self._unsafe(found[block], self.now[:-1].T) @ self.price[ec]
            if len(numbers):
                own = np.broadcast_to(found[block], (len(numbers), *found[block].shape))
                fine[block] += self.larger.price[numbers] @ self._larger_unsafe(own, self.now[rest])
        return fine

    def _unsafe(self, some: Numbers, others: Numbers) -> Booleans:
        """Return which pairs violate, shape (some, others); class values of the others are rows."""
        unsafe = np.empty((len(some), others.shape[1]), dtype=np.bool_)
        step = max(PRODUCT // some.size, 1)
        supports = (some > 0).astype(np.float32)
        for start in range(0, others.shape[1], step):
            block = others[:, start : start + step]
            if self.guarantee == "join":
                joined = some @ block
                unsafe[:, start : start + step] = (joined > 0) & (joined < self.k)
            else:
                own, theirs = some @ (block > 0).astype(np.float32), supports @ block
                unsafe[:, start : start + step] = (own > 0) & ((own < self.k) | (theirs < self.k))
        return unsafe

    def _larger_unsafe(self, own: Numbers, rest: Numbers) -> Booleans:
        """Return which candidates violate with the rest of a choice, shape (choices, candidates)."""
        if self.guarantee == "join":
            joined = np.matmul(own, rest.prod(axis=1)[:, :, None])[:, :, 0]
            return np.asarray((joined > 0) & (joined < self.k))
        common = np.asarray((rest > 0).all(axis=1))
        records = np.matmul(own, common[:, :, None].astype(np.float32))[:, :, 0]
        theirs = np.matmul((own > 0).astype(np.float32), (rest * common[:, None, :]).transpose(0, 2, 1)).min(
            axis=2
        )
        return np.asarray((records > 0) & ((records < self.k) | (theirs < self.k)))
