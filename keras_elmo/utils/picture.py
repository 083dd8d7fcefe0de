"""Draws PNG files with matplotlib, with a font that has Hangul."""

import contextlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from keras_elmo.utils.checks import check_path
from keras_elmo.utils.files import replacing
from keras_elmo.utils.lazy import import_extra
from keras_elmo.utils.types import StrPath

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Fonts of Linux, macOS and Windows. matplotlib's own font has no Hangul.
_HANGUL_FONTS = (
    *("NanumGothic", "Noto Sans CJK KR", "Noto Sans KR", "UnDotum"),
    *("Apple SD Gothic Neo", "AppleGothic", "Malgun Gothic"),
)
# Importing the package would change matplotlib's settings, so only its file is used.
_FONT_PACKAGE = "koreanize_matplotlib"
_FONT_FILE = "fonts/NanumGothic.ttf"


@contextlib.contextmanager
def picture(path: StrPath, width: float, height: float) -> Iterator["Figure"]:
    """Yields a figure, with its size in inches, and saves it with 120 dots per inch.

    The file is replaced when the block ends without an error. matplotlib's settings
    stay as they are.
    """
    check_path(path=path)
    figures = import_extra("matplotlib.figure", "Drawing a picture", "plots")
    import matplotlib

    # Each font provides what the fonts before it lack.
    families = [*matplotlib.rcParams["font.family"], *_hangul_font()]
    with matplotlib.rc_context({"font.family": families}):
        figure = figures.Figure(figsize=(width, height), layout="constrained")
        yield figure
        with replacing(path) as temporary:
            figure.savefig(temporary, format="png", dpi=120)


def _hangul_font() -> list[str]:
    """Returns the name of a font that has Hangul, if there is one."""
    from matplotlib.font_manager import fontManager

    known = {font.name for font in fontManager.ttflist}
    fonts = [name for name in _HANGUL_FONTS if name in known]
    if not fonts and (package := find_spec(_FONT_PACKAGE)):
        for folder in package.submodule_search_locations or ():
            fontManager.addfont(Path(folder, _FONT_FILE))
            fonts.append(_HANGUL_FONTS[0])
    return fonts[:1]
