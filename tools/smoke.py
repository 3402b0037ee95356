"""Build the sdist and the wheel, and use the wheel in an empty environment: python tools/smoke.py

Other interpreters can be named: python tools/smoke.py python3.10 python3.13
"""

import argparse
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
USE = """
import noiseproof, torch
from noiseproof import NoiseproofClassifier, data, labels, losses, noise, train

assert "site-packages" in noiseproof.__file__, noiseproof.__file__
losses.get("gce(q=0.7)")(torch.randn(8, 10, requires_grad=True), torch.arange(8)).backward()
digits = data.load("digits")
wrong = noise.corrupt(digits.label, "symmetric(0.4)", num_classes=10, seed=0)
found = labels.find(digits.inputs.flatten(1).numpy()[:400], label=wrong.labels.numpy()[:400])
share = wrong.flipped.numpy()[:400][found.is_label_issue.to_numpy()].mean()
assert share > 0.7, share
config = train.Config(data="digits", noise="symmetric(0.4)", model="mlp(norm=True)", loss="gce(q=0.7)")
config = config.replace(lr=0.05, epochs=8, out="runs/smoke")
print(noiseproof.__version__, train.fit(config).report())
"""
COMMANDS = ["--version", "doctor", "labels find runs/smoke --out suspects.csv", "curve ce mae --classes 10"]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("python", nargs="*", default=[sys.executable])
    arguments.add_argument("--keep", action="store_true", help="do not build again")
    given = arguments.parse_args()
    if not given.keep:
        run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)
    wheel = check_contents()
    for python in given.python:
        with tempfile.TemporaryDirectory() as folder:
            use(python, wheel, Path(folder))
        say(f"{python}: {wheel.name} can be installed and used")


def check_contents() -> Path:
    """The newest wheel, after a look into it and into the sdist of the same version."""
    wheel = max(DIST.glob("noiseproof-*.whl"), key=lambda path: path.stat().st_mtime)
    version = wheel.name.split("-")[1]
    inside = zipfile.ZipFile(wheel).namelist()
    strangers = [
        name for name in inside if not name.startswith(("noiseproof/", f"noiseproof-{version}.dist-info/"))
    ]
    assert not strangers, strangers
    sources = ROOT / "src/noiseproof"
    files = (path for path in sources.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    missing = {f"noiseproof/{path.relative_to(sources).as_posix()}" for path in files} - set(inside)
    assert not missing, missing
    with tarfile.open(DIST / f"noiseproof-{version}.tar.gz") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for name in ("README.md", "LICENSE", "Makefile", "mkdocs.yml", "tests/test_package.py", "docs/index.md"):
        assert name in names, f"{name} is missing in the sdist"
    return wheel


def use(python: str, wheel: Path, folder: Path) -> None:
    run(python, "-m", "venv", folder / "venv")
    programs = folder / "venv/bin"
    run(
        programs / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--constraint",
        ROOT / "constraints.txt",
        wheel,
    )
    run(programs / "python", "-I", "-W", "error::UserWarning", "-c", USE, cwd=folder)
    for line in COMMANDS:
        run(programs / "noiseproof", *line.split(), cwd=folder)


def run(*words: object, cwd: Path | None = None) -> None:
    subprocess.run([str(word) for word in words], cwd=cwd, check=True)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
