"""What orchestration adds to a release: with a server running, and beyond Prefect's own start without one.

python benchmarks/startup.py [rounds]
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from servers import QUIET, server

UNJOIN = Path(sys.executable).with_name("unjoin")
EMPTY = "from prefect import flow\n\n@flow\ndef nothing():\n    pass\n\nnothing()\n"
WRITE = "from pathlib import Path; from flows.demo import write_demo; write_demo(Path())"


class Cost(NamedTuple):
    """Seconds of the clock and of all processes of a command."""

    wall: float
    cpu: float


def cost(command: list[str], folder: Path, environment: dict[str, str]) -> Cost:
    """Run a command; return what it cost."""
    before, start = os.times(), time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    wall, after = time.perf_counter() - start, os.times()
    used = after.children_user - before.children_user + after.children_system - before.children_system
    return Cost(wall, used)


def median(costs: list[Cost]) -> Cost:
    """Return the medians of several."""
    return Cost(*(statistics.median(part) for part in zip(*costs, strict=True)))


def main() -> None:
    """Print the medians of a release plainly, with a server, without one, and of a flow that does nothing."""
    rounds = int(sys.argv[1]) if sys.argv[1:] else 5
    with tempfile.TemporaryDirectory() as name, server(Path(name) / "prefect") as running:
        folder = Path(name)
        own = {key: value for key, value in os.environ.items() if not key.startswith("PREFECT_")}
        alone = own | QUIET | {"PREFECT_HOME": str(folder / "alone")}
        subprocess.run([sys.executable, "-c", WRITE], cwd=folder, check=True)
        empty = [sys.executable, "-c", EMPTY]
        release = [str(UNJOIN), "release", "release.toml", "--set", "repeats.check=off", "--engine"]
        ways = {
            "plain": ([*release, "plain"], alone),
            "release, server running": ([*release, "prefect"], running),
            "release, no server": ([*release, "prefect"], alone),
            "empty flow, server running": (empty, running),
            "empty flow, no server": (empty, alone),
        }
        found: dict[str, list[Cost]] = {way: [] for way in ways}
        for turn in range(rounds + 1):
            for way, (command, environment) in ways.items():
                spent = cost(command, folder, environment)
                if turn:  # the first round fills caches and makes the database
                    found[way].append(spent)
    costs = {way: median(spent) for way, spent in found.items()}
    for way, (wall, cpu) in costs.items():
        print(f"{way:<28} {wall:6.1f} s, {cpu:6.1f} s of CPU")
    added = costs["release, server running"].wall - costs["plain"].wall
    starts = costs["release, no server"].wall - costs["plain"].wall - costs["empty flow, no server"].wall
    print(f"with a server running, orchestration adds {added:.1f} s")
    print(f"without one, {starts:+.1f} s beyond a plain release and an empty flow")


if __name__ == "__main__":
    main()
