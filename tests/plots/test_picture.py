import sys
from importlib.util import find_spec

import pytest

from keras_elmo import plots as module
from keras_elmo.plots import picture


def draw(path, text):
    with picture(path, 2, 1) as figure:
        figure.text(0.1, 0.5, text)
    return path.read_bytes()


@pytest.fixture(autouse=True)
def matplotlib():
    return pytest.importorskip("matplotlib")


def test_it_has_the_size_that_was_asked_for(tmp_path, size_of_png):
    draw(tmp_path / "a.png", "a")
    assert size_of_png(tmp_path / "a.png") == (240, 120)


def test_hangul_is_drawn(tmp_path):
    """A warning of a missing glyph is an error here; all such glyphs look the same."""
    drawn = {draw(tmp_path / "a.png", text) for text in ("배", "눈", "손", "bank")}
    assert len(drawn) == 4


def test_the_font_may_come_from_its_package(tmp_path, monkeypatch, matplotlib):
    if find_spec("koreanize_matplotlib") is None:
        pytest.skip("koreanize-matplotlib is not installed")
    fonts = matplotlib.font_manager.fontManager
    latin = [font for font in fonts.ttflist if font.name.startswith("DejaVu")]
    monkeypatch.setattr(fonts, "ttflist", latin)
    assert draw(tmp_path / "a.png", "배") != draw(tmp_path / "a.png", "눈")


def test_without_such_a_font_the_rest_is_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_HANGUL_FONTS", ())
    monkeypatch.setattr(module, "_FONT_PACKAGE", "no_such_package")
    assert draw(tmp_path / "a.png", "a") != draw(tmp_path / "a.png", "b")
    with pytest.warns(UserWarning, match="missing from font"):
        draw(tmp_path / "a.png", "배")


def test_settings_stay_what_they_are(tmp_path, matplotlib):
    before = dict(matplotlib.rcParams)
    draw(tmp_path / "a.png", "a")
    assert dict(matplotlib.rcParams) == before


def test_a_picture_that_fails_leaves_the_one_before(tmp_path):
    before = draw(tmp_path / "a.png", "a")
    with pytest.raises(ZeroDivisionError), picture(tmp_path / "a.png", 2, 1):
        1 / 0  # noqa: B018
    assert (tmp_path / "a.png").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


def test_without_matplotlib_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'keras-elmo\[plots\]'"):
        draw(tmp_path / "a.png", "a")
