"""The key out of a backup, before there are settings: PYTHONPATH=platform python -m console.backups.key FILE

On a machine that lost its data root `manage.py` does not start, for it has no key; this writes
console/secret.key below the data root, and `manage.py restore FILE` does the rest. The pass phrase comes from
SIGNALBOX_BACKUP_PASSPHRASE.
"""

from __future__ import annotations

import sys
import tarfile
import tempfile
from pathlib import Path

from console.backups import archive
from console.backups.passphrases import VARIABLE, read_passphrase
from console.data_root import data_root
from console.keys import write_key_file


def key_of(file: Path, passphrase: str | None) -> str:
    with tempfile.TemporaryDirectory() as folder:
        plain = file
        if archive.is_encrypted(file):
            if passphrase is None:
                raise archive.BadArchive(f"the backup is encrypted: set {VARIABLE}")
            plain = Path(folder) / "plain"
            archive.decrypt(file, plain, passphrase)
        with tarfile.open(plain, mode="r:gz") as tar:
            member = next((each for each in tar if each.isfile() and each.name == archive.KEY), None)
            opened = None if member is None else tar.extractfile(member)
            if opened is None:
                raise archive.BadArchive("the backup was made without --with-key")
            return opened.read().decode()


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: python -m console.backups.key FILE", file=sys.stderr)
        return 2
    root = data_root()
    try:
        text = key_of(Path(arguments[0]), read_passphrase(None))
        root.prepare()
        write_key_file(root.key_file, text)
    except FileExistsError:
        print(f"{root.key_file} is there already", file=sys.stderr)
        return 1
    except (archive.BadArchive, OSError, tarfile.TarError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"wrote {root.key_file}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
