"""What a run was made on."""

import datetime
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

PACKAGES = (
    "jax",
    "keras",
    "keras-hub",
    "numpy",
    "onnxruntime",
    "openvino",
    "sentence-transformers",
    "tensorflow",
    "tensorflow-text",
    "tokenizers",
    "torch",
    "transformers",
)


def environment() -> dict[str, object]:
    """Returns processor, versions, commit, date and load, for the record."""
    return {
        "processor": _processor(),
        "instructions": _instructions(),
        "cores": os.cpu_count(),
        "memory_gib": round(_memory() / 2**30, 1),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "commit": _git("rev-parse", "--short", "HEAD"),
        "changed_files": len(_git("status", "--porcelain").splitlines()),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="minutes"),
        "load_average": list(os.getloadavg()),
    }


def _processor() -> str:
    return _cpu_field("model name") or platform.processor()


def _instructions() -> list[str]:
    flags = _cpu_field("flags").split()
    wanted = ("avx2", "avx512", "amx", "avx_vnni")
    return [flag for flag in flags if flag.startswith(wanted)]


def _cpu_field(name: str) -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
    values = [x.split(":", 1)[1].strip() for x in lines if x.startswith(name)]
    return values[0] if values else ""


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:  # a machine without git
        return ""
    return done.stdout.strip()
