"""What all pictures have in common: a file that appears whole, and fonts."""

import contextlib
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from keras_elmo.atomic import replacing
from keras_elmo.optional import import_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Fonts that know Hangul, which matplotlib's own does not, as they are called on Linux,
# macOS and Windows.
_HANGUL_FONTS = (
    "NanumGothic",
    "Noto Sans CJK KR",
    "Noto Sans KR",
    "UnDotum",
    "Apple SD Gothic Neo",
    "AppleGothic",
    "Malgun Gothic",
)
# A package that is there for its font: importing it would change matplotlib's settings.
_FONT_PACKAGE = "koreanize_matplotlib"
_FONT_FILE = "fonts/NanumGothic.ttf"


@contextlib.contextmanager
def picture(
    path: str | os.PathLike[str], width: float, height: float
) -> Iterator["Figure"]:
    """Yields a figure, which becomes a .png when the block has drawn on it.

    A file that stands there is replaced. Nothing is shown on a screen, and matplotlib's
    settings stay what they are.

    Args:
        path: of the file.
        width: inches; there are 120 pixels in each.
        height: inches.

    Raises:
        ImportError: matplotlib is not installed.
    """
    figures = import_extra("matplotlib.figure", "Drawing a picture", "plots")
    import matplotlib

    # What the first font lacks is taken from the next.
    families = [*matplotlib.rcParams["font.family"], *_hangul_font()]
    with matplotlib.rc_context({"font.family": families}):
        figure = figures.Figure(figsize=(width, height), layout="constrained")
        yield figure
        with replacing(path) as temporary:
            figure.savefig(temporary, format="png", dpi=120)


def _hangul_font() -> list[str]:
    """The name of a font that knows Hangul, if there is one."""
    from matplotlib.font_manager import fontManager

    known = {font.name for font in fontManager.ttflist}
    found = [name for name in _HANGUL_FONTS if name in known]
    if not found and (package := find_spec(_FONT_PACKAGE)):
        for folder in package.submodule_search_locations or ():
            fontManager.addfont(Path(folder, _FONT_FILE))
            found.append(_HANGUL_FONTS[0])
    return found[:1]
