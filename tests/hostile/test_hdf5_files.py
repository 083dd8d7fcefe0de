"""weights.hdf5: whatever HDF5 can do that weights have no use for."""

import os
import shutil
import zlib

import h5py
import numpy as np
import pytest

from keras_elmo.files.loading import load, load_language_model
from tests.helpers.command_line import assert_one_line, command

pytestmark = pytest.mark.usefixtures("little_memory")

NAME = "CNN_proj/W_proj"
SHAPE = (15, 7)
TRILLION = (10**6, 10**6)


def replaced(change):
    """Returns a change that first removes the dataset."""

    def changed(file, folder):
        del file[NAME]
        change(file, folder)

    return changed


def another_file(folder):
    """A sound HDF5 file with a dataset of the right shape."""
    with h5py.File(folder / "secret.hdf5", "w") as file:
        file["secret"] = np.ones(SHAPE, "float32")
    return str(folder / "secret.hdf5")


def external_link(file, folder):
    file[NAME] = h5py.ExternalLink(another_file(folder), "secret")


def external_group(file, folder):
    with h5py.File(folder / "secret.hdf5", "w") as other:
        other["W_proj"] = np.ones(SHAPE, "float32")
        other["b_proj"] = np.ones(SHAPE[1:], "float32")
    del file["CNN_proj"]
    file["CNN_proj"] = h5py.ExternalLink(str(folder / "secret.hdf5"), "/")


def link_to_a_device(file, folder):
    file[NAME] = h5py.ExternalLink("/dev/zero", "secret")


def link_to_a_pipe(file, folder):
    os.mkfifo(folder / "pipe")
    file[NAME] = h5py.ExternalLink(str(folder / "pipe"), "secret")


def soft_link(file, folder):
    file["elsewhere"] = np.ones(SHAPE, "float32")
    file[NAME] = h5py.SoftLink("/elsewhere")


def link_to_itself(file, folder):
    file[NAME] = h5py.SoftLink(f"/{NAME}")


def external_storage(file, folder):
    (folder / "secret.bin").write_bytes(b"s" * 4 * 105)
    where = [(str(folder / "secret.bin"), 0, 4 * 105)]
    file.create_dataset(NAME, SHAPE, "float32", external=where)


def virtual(file, folder):
    layout = h5py.VirtualLayout(SHAPE, "float32")
    layout[:] = h5py.VirtualSource(another_file(folder), "secret", SHAPE)
    file.create_virtual_dataset(NAME, layout)


def huge(file, folder):
    file.create_dataset(NAME, TRILLION, "float32")


def huge_in_chunks(file, folder):
    file.create_dataset(NAME, TRILLION, "float32", chunks=(1000, 1000))


def bomb(file, folder):
    """One chunk of 4 GB, of which a few bytes are in the file."""
    size = (1 << 15, 30_000)
    dataset = file.create_dataset(
        NAME, SHAPE, "float32", maxshape=(None, None), chunks=size, compression="gzip"
    )
    dataset.id.write_direct_chunk((0, 0), b"\0" * 100)


def in_chunks(file, **options):
    """A sound dataset of four chunks."""
    ones = np.ones(SHAPE, "float32")
    return file.create_dataset(NAME, data=ones, chunks=(8, 4), **options)


def lzf(file, folder):
    in_chunks(file, compression="lzf")


def scale_offset(file, folder):
    in_chunks(file, scaleoffset=3)


def unpacks_to_more(file, folder):
    """A chunk of 128 bytes, of which 300 MB are in the file."""
    content = zlib.compress(b"\0" * 300_000_000, 9)[: 2 * 128 + 1024]
    in_chunks(file, compression="gzip").id.write_direct_chunk((8, 4), content)


def large_in_the_file(file, folder):
    """A chunk of 128 bytes, for which 4 MB are in the file."""
    in_chunks(file).id.write_direct_chunk((8, 4), b"\0" * (4 << 20))


def damaged_chunk(file, folder):
    in_chunks(file, compression="gzip").id.write_direct_chunk((8, 4), b"\0" * 100)


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


def left_empty(file, folder):
    file.create_dataset(NAME, SHAPE, "float32")


def strings(file, folder):
    file.create_dataset(NAME, SHAPE, h5py.string_dtype())


def integers(file, folder):
    file.create_dataset(NAME, data=np.ones(SHAPE, "int64"))


def compound(file, folder):
    file.create_dataset(NAME, SHAPE, np.dtype([("a", "f4"), ("b", "f8")]))


def references(file, folder):
    file.create_dataset(NAME, SHAPE, h5py.ref_dtype)


def scalar(file, folder):
    file[NAME] = np.float32(1)


def no_space(file, folder):
    file[NAME] = h5py.Empty("float32")


def a_type(file, folder):
    file[NAME] = np.dtype("float32")


CHANGES = {
    change.__name__.replace("_", " "): replaced(change)
    for change in (
        external_link,
        link_to_a_device,
        link_to_a_pipe,
        soft_link,
        link_to_itself,
        external_storage,
        virtual,
        huge,
        huge_in_chunks,
        bomb,
        lzf,
        scale_offset,
        unpacks_to_more,
        large_in_the_file,
        damaged_chunk,
        missing_chunk,
        odd_floats,
        left_empty,
        strings,
        integers,
        compound,
        references,
        scalar,
        no_space,
        a_type,
    )
}
CHANGES["external group"] = external_group


@pytest.mark.parametrize("change", CHANGES)
def test_dataset(change, directory, tmp_path):
    """A dataset that no trainer writes is an error of one line."""
    with h5py.File(directory.weights, "a") as file:
        CHANGES[change](file, tmp_path)
    said = "CNN_proj" if change == "external group" else NAME
    with pytest.raises((ValueError, OSError)) as error:
        load(directory.path)
    assert directory.weights in str(error.value) and said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("change", ["external link", "bomb", "huge", "strings"])
def test_dataset_of_warm_start(change, directory, tmp_path):
    """The same in the softmax that a run begins from, which is read on its own."""
    with h5py.File(directory.weights, "a") as file:
        file.move("softmax/W", "kept")
        CHANGES[change](file, tmp_path)
        file.move(NAME, "softmax/W")
        file[NAME] = np.ones(SHAPE, "float32")
        del file["kept"]
    (tmp_path / "text.txt").write_text("the bank\n" * 20, encoding="utf-8")
    sizes = ("--steps", "1", "--num-sampled", "2", "--batch-tokens", "132")
    files = ("--corpus", tmp_path / "text.txt", "--init", directory.path)
    *_, err = command("pretrain", *files, "--out", tmp_path / "run", *sizes)
    assert "error: " in err.splitlines()[-1]
    assert directory.weights in err.splitlines()[-1]
    assert "softmax/W" in err.splitlines()[-1]


@pytest.mark.parametrize("change", ["external link", "bomb", "huge", "strings"])
def test_dataset_of_exported_softmax(change, originals, tmp_path):
    """The same in the softmax of an exported model."""
    model = shutil.copytree(originals / "language_model", tmp_path / "model")
    softmax = model / "assets.extra" / "softmax.hdf5"
    with h5py.File(softmax, "a") as file:
        file[NAME] = file["softmax/W"][...]
        CHANGES[change](file, tmp_path)
        del file["softmax/W"]
        file.move(NAME, "softmax/W")
    with pytest.raises(ValueError, match=f"{softmax}: .*softmax/W"):
        load_language_model(model)


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


@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_not_a_file(kind, directory, tmp_path):
    """A folder, pipe or device instead of the weights is an error of one line."""
    os.remove(directory.weights)
    if kind == "folder":
        os.mkdir(directory.weights)
    elif kind == "pipe":
        os.mkfifo(directory.weights)
    else:
        os.symlink("/dev/zero", directory.weights)
    out = tmp_path / "out"
    result = command("export", "--model", directory.path, "--out", out)
    assert_one_line(*result, directory.weights, "must be a file")
