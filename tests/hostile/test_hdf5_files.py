"""weights.hdf5: whatever HDF5 can do that weights have no use for."""

import os
import re
import shutil
import zlib

import h5py
import numpy as np
import pytest

from keras_elmo.files.loading import load, load_language_model
from tests.helpers.command_line import assert_one_line, command
from tests.hostile.conftest import NO_FILES

pytestmark = pytest.mark.usefixtures("little_memory")

NAME = "CNN_proj/W_proj"
SHAPE = (15, 7)
TRILLION = (10**6, 10**6)


def external_file(folder):
    """A sound HDF5 file with a dataset of the right shape."""
    with h5py.File(folder / "secret.hdf5", "w") as file:
        file["secret"] = file["W_proj"] = np.ones(SHAPE, "float32")
        file["b_proj"] = np.ones(SHAPE[1:], "float32")
    return str(folder / "secret.hdf5")


def external_link(file, folder):
    file[NAME] = h5py.ExternalLink(external_file(folder), "secret")


def external_group(file, folder):
    del file["CNN_proj"]
    file["CNN_proj"] = h5py.ExternalLink(external_file(folder), "/")


def link_to_a_pipe(file, folder):
    os.mkfifo(folder / "pipe")
    file[NAME] = h5py.ExternalLink(str(folder / "pipe"), "secret")


def soft_link(file, folder):
    file["elsewhere"] = np.ones(SHAPE, "float32")
    file[NAME] = h5py.SoftLink("/elsewhere")


def external_storage(file, folder):
    (folder / "secret.bin").write_bytes(b"s" * 4 * 105)
    where = [(str(folder / "secret.bin"), 0, 4 * 105)]
    file.create_dataset(NAME, SHAPE, "float32", external=where)


def virtual(file, folder):
    layout = h5py.VirtualLayout(SHAPE, "float32")
    layout[:] = h5py.VirtualSource(external_file(folder), "secret", SHAPE)
    file.create_virtual_dataset(NAME, layout)


def bomb(file, folder):
    """One chunk of 4 GB, of which a few bytes are in the file."""
    size = (1 << 15, 30_000)
    dataset = file.create_dataset(
        NAME, SHAPE, "float32", maxshape=(None, None), chunks=size, compression="gzip"
    )
    dataset.id.write_direct_chunk((0, 0), b"\0" * 100)


def missing_chunk(file, folder):
    dataset = file.create_dataset(NAME, SHAPE, "float32", chunks=(8, 4))
    dataset[:8] = 1


def odd_floats(file, folder):
    """Floating-point numbers of 3 bytes, which NumPy does not have."""
    kind = h5py.h5t.IEEE_F32LE.copy()
    kind.set_fields(23, 15, 8, 0, 15)
    kind.set_size(3)
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk((8, 4))
    space = h5py.h5s.create_simple(SHAPE)
    h5py.h5d.create(file.id, NAME.encode(), kind, space, properties)
    file[NAME][...] = 1


def value(value):
    """A link, a scalar or a type in place of the dataset."""
    return lambda file, folder: file.__setitem__(NAME, value)


def dataset(shape=SHAPE, dtype="float32", **options):
    return lambda file, folder: file.create_dataset(NAME, shape, dtype, **options)


def chunks(content=None, **options):
    """Four chunks, of which one may have other bytes than the file says."""

    def change(file, folder):
        ones = np.ones(SHAPE, "float32")
        made = file.create_dataset(NAME, data=ones, chunks=(8, 4), **options)
        if content is not None:
            made.id.write_direct_chunk((8, 4), content)

    return change


def unpacks_to_more(file, folder):
    """A chunk of 128 bytes, of which more than a megabyte is in the file."""
    content = zlib.compress(b"\0" * 3_000_000, 9)[: 2 * 128 + 1024]
    chunks(content, compression="gzip")(file, folder)


CHANGES = {
    "external link": external_link,
    "external group": external_group,
    "link to a device": value(h5py.ExternalLink("/dev/zero", "secret")),
    "link to a pipe": link_to_a_pipe,
    "soft link": soft_link,
    "link to itself": value(h5py.SoftLink(f"/{NAME}")),
    "external storage": external_storage,
    "virtual": virtual,
    "huge": dataset(TRILLION),
    "huge in chunks": dataset(TRILLION, chunks=(1000, 1000)),
    "bomb": bomb,
    "lzf": chunks(compression="lzf"),
    "scale offset": chunks(scaleoffset=3),
    "unpacks to more": unpacks_to_more,
    # A chunk of 128 bytes, for which 4 MB are in the file.
    "large in the file": chunks(b"\0" * (4 << 20)),
    "damaged chunk": chunks(b"\0" * 100, compression="gzip"),
    "missing chunk": missing_chunk,
    "odd floats": odd_floats,
    "left empty": dataset(),
    "strings": dataset(dtype=h5py.string_dtype()),
    "integers": dataset(data=np.ones(SHAPE, "int64"), dtype="int64"),
    "compound": dataset(dtype=np.dtype([("a", "f4"), ("b", "f8")])),
    "references": dataset(dtype=h5py.ref_dtype),
    "scalar": value(np.float32(1)),
    "no space": value(h5py.Empty("float32")),
    "a type": value(np.dtype("float32")),
}


def spoil(path, change, folder):
    """Replaces a dataset of the weights."""
    with h5py.File(path, "a") as file:
        if change != "external group":
            del file[NAME]
        CHANGES[change](file, folder)


@pytest.mark.parametrize("change", CHANGES)
def test_dataset(change, directory, tmp_path):
    """A dataset that no trainer writes is an error of one line."""
    spoil(directory.weights, change, tmp_path)
    said = "CNN_proj" if change == "external group" else NAME
    with pytest.raises((ValueError, OSError)) as error:
        load(directory.path)
    assert directory.weights in str(error.value) and said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("change", ["external link", "bomb", "huge", "strings"])
def test_dataset_of_exported_softmax(change, originals, tmp_path):
    """The same in the softmax of an exported model, also where a run begins."""
    model = shutil.copytree(originals / "language_model", tmp_path / "model")
    softmax = model / "assets.extra" / "softmax.hdf5"
    with h5py.File(softmax, "a") as file:
        file.move("softmax/W", NAME)
    spoil(softmax, change, tmp_path)
    with h5py.File(softmax, "a") as file:
        file.move(NAME, "softmax/W")
    with pytest.raises(ValueError, match=f"{softmax}: .*softmax/W"):
        load_language_model(model)
    if change == "bomb":
        (tmp_path / "text.txt").write_text("the bank\n" * 20, encoding="utf-8")
        files = ("--corpus", tmp_path / "text.txt", "--out", tmp_path / "run")
        *_, err = command("pretrain", "--init", model, *files, "--steps", "1")
        assert re.search(f"error: {softmax}: .*softmax/W", err.splitlines()[-1])


@pytest.mark.parametrize("top", ["other", "CNN_proj/other"])
def test_nested_groups(top, directory):
    """Groups in groups are not walked: to visit all of them takes minutes."""
    with h5py.File(directory.weights, "a") as file:
        group = file
        for name in [*top.split("/"), *["g"] * 5000]:
            group = group.require_group(name)
    if top == "other":
        load(directory.path)
        return
    with pytest.raises(ValueError, match=f"{directory.weights}: holds {top}, but"):
        load(directory.path)


@pytest.mark.parametrize("kind", NO_FILES)
def test_not_a_file(kind, directory, tmp_path):
    """A folder, pipe or device instead of the weights is an error of one line."""
    os.remove(directory.weights)
    NO_FILES[kind](directory.weights)
    out = tmp_path / "out"
    result = command("export", "--model", directory.path, "--out", out)
    assert_one_line(*result, directory.weights, "must be a file")
