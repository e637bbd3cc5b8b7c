"""Fails if installing this package would replace a package or add more than five.

It is run by the Python of an environment that has the versions that Colab publishes:

    .venv-oldest/bin/python tests/try_installation.py
"""

import json
import subprocess
import sys
from importlib import metadata

MAX_ADDED = 5
PIP = ["-m", "pip", "install", "--quiet", "--dry-run", "--report", "-"]


def plan(requirement: str) -> dict[str, str]:
    """Returns the packages that pip would install, with their versions."""
    command = [sys.executable, *PIP, requirement]
    report = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    packages = [x["metadata"] for x in json.loads(report)["install"]]
    return {canonical(x["name"]): x["version"] for x in packages}


def canonical(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def main() -> None:
    installed = {canonical(x.name): x.version for x in metadata.distributions()}
    installed.pop("keras-bert-lite", None)
    for requirement in (".", ".[plot]"):
        added = plan(requirement)
        replaced = sorted(set(added) & set(installed))
        print(f"pip install '{requirement}': {len(replaced)} replaced, added:")
        print(*(f"    {name} {version}" for name, version in added.items()), sep="\n")
        if replaced:
            versions = [f"{x} {installed[x]} by {added[x]}" for x in replaced]
            sys.exit(f"pip would replace {', '.join(versions)}")
        if len(added) > MAX_ADDED:
            sys.exit(f"pip would add {len(added)} packages, more than {MAX_ADDED}")


if __name__ == "__main__":
    main()
