"""A cache of models that come in an archive or from the Hugging Face Hub."""

import hashlib
import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from keras_elmo.utils.checks import called, received
from keras_elmo.utils.files import file_hash, replacing
from keras_elmo.utils.lazy import import_extra
from keras_elmo.utils.reading import reading

HUB = "hf://"
# The files of a model, whatever else its repository holds.
_FILES = (
    *("*.json", "*.hdf5", "*vocabulary*.txt", "*README.md"),
    *("*saved_model.pb", "*fingerprint.pb", "*variables/*"),
)
# An archive that unpacks to a larger multiple of its size is no model: weights
# hardly shrink.
_MAX_RATIO = 20


def download(name: str, argument: str = "model") -> Path:
    """Returns the folder of a repository of the Hub, `hf://OWNER/NAME[@REVISION]`.

    What the cache has is not downloaded again, and taken where there is no network.
    Every file is compared with its checksum.
    """
    repository, revision = parse_repository(name, argument)
    hub = import_extra("huggingface_hub", f"Loading {name}", "hub")
    try:
        folder = Path(
            hub.snapshot_download(
                repository, revision=revision, allow_patterns=list(_FILES)
            )
        )
    except Exception as error:
        raise hub_error(name, "downloaded", error) from error
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            _check(path)
    return folder


def parse_repository(
    name: str, argument: str, may_be_old: bool = True
) -> tuple[str, str | None]:
    """Returns the repository and the revision of `hf://OWNER/NAME[@REVISION]`."""
    form = re.fullmatch(r"hf://([\w.-]+/[\w.-]+?)(?:@([\w./-]+))?", name)
    if form is None or (form[2] and not may_be_old):
        forms = "hf://OWNER/NAME" + " or hf://OWNER/NAME@REVISION" * may_be_old
        told = received(**{argument: name})
        raise ValueError(f"{called(argument)} must have the form {forms}. {told}")
    return form[1], form[2]


def hub_error(name: str, done: str, error: Exception) -> OSError:
    """Returns the error of something that cannot be done with a repository."""
    reason = str(error)
    if (cause := str(error.__cause__ or "")) not in reason:
        reason += f" {cause}"
    below: BaseException | None = error
    while below is not None:
        # Their classes depend on the HTTP library below, which has changed.
        if "Connect" in type(below).__name__:
            reason = f"no connection to the Hub: {below}"
            break
        below = below.__cause__ or below.__context__
    return OSError(f"{name}: cannot be {done}: {' '.join(reason.split())}")


def _check(path: Path) -> None:
    """Compares a file of the Hub's cache with its checksum, which is its name there."""
    stored = path.resolve()
    if re.fullmatch("[0-9a-f]{64}", stored.name):
        actual = file_hash(stored)
    elif re.fullmatch("[0-9a-f]{40}", stored.name):
        # That of Git, which small files have.
        content = stored.read_bytes()
        content = b"blob %d\0" % len(content) + content
        actual = hashlib.sha1(content, usedforsecurity=False).hexdigest()
    else:
        return
    if actual != stored.name:
        raise ValueError(
            f"{path}: is damaged: its checksum is {actual}, not {stored.name}; remove "
            f"{stored} to download it again"
        )


def unpack(archive: Path) -> Path:
    """Returns the folder of what a .zip holds; unpacked once, by its checksum."""
    folder = _cache() / f"{archive.stem}-{file_hash(archive)[:16]}"
    if folder.is_dir():
        return folder
    with (
        reading(archive, "not a .zip file of a model"),
        zipfile.ZipFile(archive) as file,
        replacing(folder) as temporary,
    ):
        size = sum(member.file_size for member in file.infolist())
        if size > _MAX_RATIO * archive.stat().st_size:
            raise ValueError(f"unpacks to {size:,} bytes, too many for a model")
        # Names that point elsewhere are brought inside, and checksums are compared.
        file.extractall(temporary)
    return folder


def _cache() -> Path:
    home = os.environ.get("KERAS_HOME") or Path.home() / ".keras"
    return Path(home) / "keras_elmo"


def cached_folders() -> Iterator[tuple[str, Path]]:
    """Yields what the caches hold: the name, "" of an archive, and the folder."""
    yield from _hub_folders()
    for folder in sorted(_cache().glob("[!.]*/")):
        yield "", folder


def _hub_folders() -> Iterator[tuple[str, Path]]:
    try:
        hub = import_extra("huggingface_hub", "Listing models", "hub")
        constants = import_extra("huggingface_hub.constants", "Listing models", "hub")
    except ImportError:
        return
    if not os.path.isdir(constants.HF_HUB_CACHE):
        return
    for repo in sorted(hub.scan_cache_dir().repos, key=lambda repo: repo.repo_id):
        if repo.repo_type == "model" and repo.revisions:
            newest = max(repo.revisions, key=lambda revision: revision.last_modified)
            yield HUB + repo.repo_id, newest.snapshot_path
