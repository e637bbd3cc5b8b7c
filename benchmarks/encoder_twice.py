"""Whether `make encoder` gives the same bits again, and after it was killed.

    python -m benchmarks.encoder_twice --data DATA

runs 200 steps of each stage in `build/once`; and in `build/killed`, where each stage
is killed after its first save and the command is called again. It fails unless all
files of the two encoders are equal.
"""

import argparse
import filecmp
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
STEPS, SAVE = 200, 100
STAGES = ("words", "pairs")


def command(folder: Path, data: Path) -> list[str]:
    changes = {"ENCODER": folder, "DATA": data.resolve(), "SAVE": SAVE}
    changes |= {stage.upper(): STEPS for stage in STAGES}
    return ["make", "encoder", *(f"{k}={v}" for k, v in changes.items())]


def kill_after_save(folder: Path, data: Path, stage: str) -> None:
    """Runs the command until a stage has its first save, and kills it."""
    process = subprocess.Popen(command(folder, data), cwd=ROOT, start_new_session=True)
    while not list((ROOT / folder / stage).glob("*.safetensors")):
        if process.poll() is not None:
            raise SystemExit(f"{stage}: the command ended before it was killed")
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.encoder_twice")
    parser.add_argument("--data", required=True, type=Path)
    data = parser.parse_args().data
    once, killed = Path("build/once"), Path("build/killed")
    for folder in (once, killed):
        shutil.rmtree(ROOT / folder, ignore_errors=True)
    subprocess.run(command(once, data), cwd=ROOT, check=True)
    for stage in STAGES:
        kill_after_save(killed, data, stage)
    subprocess.run(command(killed, data), cwd=ROOT, check=True)
    first, second = (ROOT / x / "model" for x in (once, killed))
    names = [str(x.relative_to(first)) for x in first.rglob("*") if x.is_file()]
    same, other, missing = filecmp.cmpfiles(first, second, names, shallow=False)
    if other or missing:
        raise SystemExit(f"not the same: {other + missing}")
    print(f"{len(same)} files are the same: {' '.join(sorted(same))}")


if __name__ == "__main__":
    main()
