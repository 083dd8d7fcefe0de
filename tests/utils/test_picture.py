import sys

import pytest

from keras_elmo.utils import picture as module
from keras_elmo.utils.picture import picture
from tests.helpers.images import size_of_png
from tests.helpers.installed import import_installed, require_installed


def draw(path, text):
    with picture(path, 2, 1) as figure:
        figure.text(0.1, 0.5, text)
    return path.read_bytes()


@pytest.fixture(autouse=True)
def matplotlib():
    return import_installed("matplotlib")


def test_size(tmp_path):
    draw(tmp_path / "a.png", "a")
    assert size_of_png(tmp_path / "a.png") == (240, 120)


def test_hangul(tmp_path):
    """A warning of a missing glyph is an error here; all such glyphs look the same."""
    drawn = {draw(tmp_path / "a.png", text) for text in ("배", "눈", "손", "bank")}
    assert len(drawn) == 4


def test_font_of_a_package(tmp_path, monkeypatch, matplotlib):
    require_installed("koreanize_matplotlib")
    fonts = matplotlib.font_manager.fontManager
    latin = [font for font in fonts.ttflist if font.name.startswith("DejaVu")]
    monkeypatch.setattr(fonts, "ttflist", latin)
    assert draw(tmp_path / "a.png", "배") != draw(tmp_path / "a.png", "눈")


def test_no_hangul_font(tmp_path, monkeypatch):
    """The rest is drawn, and a warning names what is missing."""
    monkeypatch.setattr(module, "_HANGUL_FONTS", ())
    monkeypatch.setattr(module, "_FONT_PACKAGE", "no_such_package")
    assert draw(tmp_path / "a.png", "a") != draw(tmp_path / "a.png", "b")
    with pytest.warns(UserWarning, match="missing from font"):
        draw(tmp_path / "a.png", "배")


def test_settings_are_kept(tmp_path, matplotlib):
    before = dict(matplotlib.rcParams)
    draw(tmp_path / "a.png", "a")
    assert dict(matplotlib.rcParams) == before


def test_error_keeps_the_former_file(tmp_path):
    before = draw(tmp_path / "a.png", "a")
    with pytest.raises(ZeroDivisionError), picture(tmp_path / "a.png", 2, 1):
        1 / 0  # noqa: B018
    assert (tmp_path / "a.png").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


def test_missing_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'koreanize-matplotlib"):
        draw(tmp_path / "a.png", "a")
