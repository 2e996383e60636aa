"""`python -m spark.packing`: the environment that Spark's workers need, as one file to submit along.

    python -m spark.packing --output environment.tar.gz
    PYSPARK_DRIVER_PYTHON=.venv/bin/python PYSPARK_PYTHON=./environment/bin/python \\
        spark-submit --master spark://… --archives environment.tar.gz#environment spark/jobs/retention.py …

On a cluster the workers have neither `engine` nor `spark`, and compiled modules do not load from
`--py-files`. The file is a virtual environment with the packages that this one has, file by file, and nothing
is downloaded: `engine` and `spark` as they lie here, compiled modules included, and everything that they need
but pyspark, which the cluster's Spark brings itself.

    bin/python        a link to the interpreter on the nodes: the same minor version, at the same place
    pyvenv.cfg        makes it an environment wherever it is unpacked
    lib/pythonX.Y/site-packages
"""

from __future__ import annotations

import argparse
import io
import re
import sys
import tarfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path, PurePosixPath

from engine.errors import BadInput

__all__ = ["main", "pack", "packed_distributions"]

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("engine", "spark")
EXTRA = "spark"
LEFT_OUT = frozenset({"pyspark", "py4j", "signalbox"})
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_TAKEN = frozenset({".py", ".so", ".json", ".typed"})


def packed_distributions(root: str = "signalbox") -> dict[str, metadata.Distribution]:
    """What the workers need, by name: the requirements of the project with its extra, and theirs."""
    found: dict[str, metadata.Distribution] = {}
    waiting = [(root, EXTRA)]
    while waiting:
        name, extra = waiting.pop()
        distribution = _distribution(name)
        for required in _required(distribution, extra):
            if required not in found and required not in LEFT_OUT:
                found[required] = _distribution(required)
                waiting.append((required, ""))
    return found


def _distribution(name: str) -> metadata.Distribution:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError:
        raise BadInput(f"{name} is not installed here (pip install 'signalbox[spark]')") from None


def _required(distribution: metadata.Distribution, extra: str) -> Iterator[str]:
    """Names of what it needs on this machine. What a marker leaves out here is not installed here either, so
    looking for it tells."""
    for line in distribution.requires or ():
        requirement, _, marker = line.partition(";")
        match = _NAME.match(requirement.strip())
        if match is None:
            continue
        name = re.sub(r"[-_.]+", "-", match[0]).lower()
        if "extra ==" in marker and not re.search(rf"extra == ['\"]{re.escape(extra or '-')}['\"]", marker):
            continue
        if marker and "extra ==" not in marker and not _is_installed(name):
            continue
        yield name


def _is_installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def pack(output: Path, python: Path) -> int:
    """Writes the file; how many files are in it."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = PurePosixPath("lib", version, "site-packages")
    draft = output.with_name(output.name + ".new")
    with tarfile.open(draft, "w:gz", compresslevel=6) as archive:
        _add_interpreter(archive, python, version)
        count = sum(_add_files(archive, packages))
    draft.replace(output)
    return count


def _add_interpreter(archive: tarfile.TarFile, python: Path, version: str) -> None:
    settings = f"home = {python.parent}\ninclude-system-site-packages = false\n".encode()
    about = tarfile.TarInfo("pyvenv.cfg")
    about.size = len(settings)
    archive.addfile(about, io.BytesIO(settings))
    for name, target in (("python", str(python)), ("python3", "python"), (version, "python")):
        link = tarfile.TarInfo(f"bin/{name}")
        link.type, link.linkname, link.mode = tarfile.SYMTYPE, target, 0o777
        archive.addfile(link)


def _add_files(archive: tarfile.TarFile, packages: PurePosixPath) -> Iterator[int]:
    for distribution in packed_distributions().values():
        for file in distribution.files or ():
            # Scripts, and what an editable install points to, lie outside.
            if ".." in file.parts or file.is_absolute() or "__pycache__" in file.parts:
                continue
            path = Path(str(distribution.locate_file(file)))
            if path.is_file():
                archive.add(path, str(packages / file), recursive=False)
                yield 1
    for source in SOURCES:
        for path in sorted((ROOT / source).rglob("*")):
            if path.is_file() and path.suffix in _TAKEN and "__pycache__" not in path.parts:
                archive.add(path, str(packages / path.relative_to(ROOT)), recursive=False)
                yield 1


def main(words: list[str] | None = None) -> int:
    about = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="python -m spark.packing",
        description=about[0],
        epilog=about[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--output", type=Path, default=Path("environment.tar.gz"), metavar="FILE")
    default = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    parser.add_argument(
        "--python",
        type=Path,
        default=default,
        metavar="PATH",
        help=f"the interpreter on the nodes ({default})",
    )
    asked = parser.parse_args(words)
    try:
        count = pack(asked.output, asked.python)
    except BadInput as error:
        print(f"error: {error.text}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"error: {asked.output}: {error.strerror or error}", file=sys.stderr)
        return 2
    size_mb = asked.output.stat().st_size / 1_000_000
    print(f"{asked.output}: {count} files, {size_mb:.0f} MB, for {asked.python}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
