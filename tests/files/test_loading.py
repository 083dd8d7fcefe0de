import h5py
import numpy as np
import pytest

import keras_elmo
from keras_elmo.embedding.embed_file import embed_file
from keras_elmo.files import finding, loading
from keras_elmo.files.loading import load
from keras_elmo.files.published import save_published_weights
from keras_elmo.models.encoder import build_encoder
from tests.files.test_run_directory import VOCABULARY, directory, model
from tests.helpers.exports import export_weights
from tests.helpers.small import CONFIG, assert_same_weights

__all__ = ["directory", "model"]


def test_paths_and_names(directory, model, monkeypatch, tmp_path):
    """A path, a relative one, and the name of a model that is shipped."""
    assert_same_weights(load(directory.path).weights, model.encoder.weights)
    monkeypatch.chdir(tmp_path / "not yet")
    assert_same_weights(load("run").weights, model.encoder.weights)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(finding, "SHIPPED", tmp_path / "not yet")
    assert_same_weights(load("run").weights, model.encoder.weights)
    with pytest.raises(ValueError, match="not/run: no such file or folder"):
        load("not/run")


def test_published_weights(model, tmp_path):
    files = tmp_path / "options.json", tmp_path / "weights.hdf5"
    save_published_weights(model.encoder, *files)
    encoder = load(tmp_path)
    assert_same_weights(encoder.weights, model.encoder.weights)
    assert encoder.tokenizer is None


@pytest.mark.parametrize("name", ["nowhere", "no/where", "elmo-xx"])
def test_missing_model(name):
    with pytest.raises(ValueError, match=f"^{name}: no such .* `name_or_path` must be"):
        load(name)


@pytest.mark.parametrize(
    "name", ["elmo-eng", "elmo_en", "ELMoEN", "elmo-english", "elmo-korean"]
)
def test_misspelt_name(name):
    """What is wrong comes first, then the name that is probably meant."""
    with pytest.raises(ValueError, match="no such file or folder") as error:
        load(name)
    said = str(error.value)
    assert said.startswith(f"{name}: ") and len(said) <= 200
    assert ("did you mean elmo-en?" in said) == (name[-2:] in ("ng", "en", "EN"))
    assert ("did you mean elmo-ko?" in said) == (name == "elmo-korean")


@pytest.mark.parametrize(
    ("kind", "files"),
    [
        ("a training folder of bilm-tf", ["model.ckpt-7.index"]),
        ("a TF Hub module", ["variables/variables.index"]),
        (
            "a model of ELMoForManyLangs",
            ["config.json", "encoder.pkl", "token_embedder.pkl"],
        ),
    ],
)
def test_model_of_another_program(kind, files, tmp_path):
    """The error says how to import it."""
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    said = f"is {kind}; import it with `keras-elmo import`"
    with pytest.raises(ValueError, match=said):
        load(tmp_path)
    (tmp_path / files[-1]).unlink()
    said = "holds no model; `name_or_path` must be .*, a run of keras_elmo or published"
    with pytest.raises(ValueError, match=said) as error:
        load(tmp_path)
    assert len(str(error.value)) - len(str(tmp_path)) <= 200


def test_file_of_another_program(monkeypatch, tmp_path):
    """A format may be a single file, which is found in a folder or given itself."""
    mine = finding.ForeignFormat("a model of MyProgram", "*.mine", "")
    monkeypatch.setitem(finding.FOREIGN_FORMATS, "mine", mine)
    (tmp_path / "model.mine").touch()
    for path in (tmp_path, tmp_path / "model.mine"):
        with pytest.raises(ValueError, match="is a model of MyProgram; import it with"):
            load(path)


def test_wrong_type(model):
    """An object that is no model is a TypeError; so is one that has no softmax."""
    for read, name in (
        (load, "name_or_path"),
        (loading.load_language_model, "name_or_path"),
        (keras_elmo.ElmoEmbedding, "encoder"),
        (keras_elmo.ElmoEmbedding.from_saved_model, "path"),
        (keras_elmo.export_onnx, "source"),
    ):
        with pytest.raises(TypeError, match=f"`{name}` must be .* Received: a int"):
            read(3, "x.onnx") if name == "source" else read(3)
    with pytest.raises(TypeError, match="a language model: .* Received: a Encoder, wh"):
        loading.load_language_model(model.encoder)


SENTENCE = ["the", "bank", "lends", "money"]


def nearest(model, path):
    (actual,) = keras_elmo.nearest(model, "bank", SENTENCE, [["a", "bank"]], num=1)
    return actual.cosine


def export(model, path):
    export_weights(model, path / "model")
    return np.stack(next(keras_elmo.embed(path / "model", [SENTENCE])))


def embed_to_file(model, path):
    (path / "text.txt").write_text(" ".join(SENTENCE))
    embed_file(model, path / "text.txt", path / "out.hdf5", layers="mix")
    with h5py.File(path / "out.hdf5") as file:
        return file["0"][...]


def called(layer):
    return np.asarray(layer(keras_elmo.CharacterIds()([SENTENCE])))


TAKERS = {
    "embed": lambda model, path: next(keras_elmo.embed(model, [SENTENCE])),
    "nearest": nearest,
    "ElmoEmbedding": lambda model, path: called(keras_elmo.ElmoEmbedding(model)),
    "from_saved_model": lambda model, path: called(
        keras_elmo.ElmoEmbedding.from_saved_model(model)
    ),
    "export_saved_model": export,
    "embed_file": embed_to_file,
}


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("taker", TAKERS)
def test_any_form_of_a_model(taker, directory, model, monkeypatch, tmp_path):
    """A name, a path and each object do alike wherever a model is taken."""
    monkeypatch.setattr(finding, "SHIPPED", tmp_path / "not yet")
    layer = keras_elmo.ElmoEmbedding(model.encoder)
    results, forms = [], ["run", layer]
    if taker == "ElmoEmbedding":
        forms += [directory.path, model.encoder, model]
    for k, form in enumerate(forms):
        (tmp_path / str(k)).mkdir()
        results.append(TAKERS[taker](form, tmp_path / str(k)))
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0], atol=1e-6)


@pytest.mark.usefixtures("eagerly")
def test_language_model_in_any_form(directory, model, monkeypatch, tmp_path):
    """A name, a path and the object do alike where a softmax is needed."""
    monkeypatch.setattr(finding, "SHIPPED", tmp_path / "not yet")
    monkeypatch.setattr(model, "vocabulary", VOCABULARY)
    actual = [
        keras_elmo.substitutes(form, SENTENCE, 1, num=1)[0].probability
        for form in ("run", directory.path, model)
    ]
    np.testing.assert_allclose(actual, actual[0], rtol=1e-5)


@pytest.fixture(scope="module")
def layer(tmp_path_factory):
    """A layer whose mix is trained."""
    layer = keras_elmo.ElmoEmbedding(build_encoder(CONFIG), layer_norm=True)
    layer.mixes[0].scalars.assign([1.0, 0.0, 3.0])
    layer.mixes[0].gamma.assign(2.0)
    return layer


def assert_same_mixes(layer, wanted):
    ((weights, gamma),) = wanted.mix_weights
    for found_weights, found_gamma in layer.mix_weights:
        np.testing.assert_allclose(found_weights, weights, rtol=1e-6)
        assert found_gamma == gamma
    assert layer.layer_norm == wanted.layer_norm


@pytest.mark.parametrize("form", ["layer", "exported"])
@pytest.mark.parametrize(
    "make", [keras_elmo.ElmoEmbedding, keras_elmo.ElmoEmbedding.from_saved_model]
)
def test_mix_comes_along(make, form, layer, tmp_path):
    """Every mix begins as the model's; what is asked for goes before."""
    source = layer
    if form == "exported":
        source = tmp_path / "exported"
        export_weights(layer, source)
    copy = make(source, num_representations=2)
    assert copy is not layer and len(copy.mixes) == 2
    assert_same_mixes(copy, layer)
    other = make(source, layer_norm=False)
    assert not other.layer_norm
    assert other.mix_weights[0][1] == 2
    # The model alone begins with equal weights.
    new = make(load(source))
    assert new.mix_weights[0][1] == 1 and not new.layer_norm


def test_layer_norm_is_checked(layer):
    """What is no boolean is refused, as every option of the layer."""
    with pytest.raises(TypeError, match="`layer_norm` must be True or False"):
        keras_elmo.ElmoEmbedding(layer, layer_norm="yes")
