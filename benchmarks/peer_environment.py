"""Where the tools are that unjoin is measured against, and how they get there."""

from pathlib import Path

HERE = Path(__file__).parent
PEERS = HERE / ".peers" / "bin" / "python"
INSTALL = "python3 -m venv .peers && .peers/bin/pip install -r requirements-peers.txt"


def without_peers() -> bool:
    """Say how to install the other tools, and return true, unless they are there."""
    if not PEERS.exists():
        print(f"other tools are left out; to install them: (cd {HERE} && {INSTALL})")
    return not PEERS.exists()
