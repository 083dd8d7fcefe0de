"""Sphinx's configuration; `make docs` builds the pages into build/docs."""

import importlib
import inspect
import re
import textwrap

import keras
from sphinx.util.docutils import SphinxDirective
from sphinx.util.inspect import stringify_signature

import keras_elmo

project = "keras_elmo"
copyright = "the authors of keras_elmo, Apache License 2.0"
version = release = keras_elmo.__version__
extensions = ["myst_parser", "sphinx_copybutton", "sphinxcontrib.katex"]
# Beside the script, which is of that extension: nothing comes from another host.
katex_css_path = "katex/katex.min.css"
# Blocks of the command line.
highlight_language = "text"
html_theme = "furo"
html_title = "keras_elmo"
pygments_dark_style = "monokai"
html_favicon = "figures/icon.svg"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_show_sourcelink = False
myst_enable_extensions = ["attrs_block", "deflist", "dollarmath"]
myst_heading_anchors = 3
add_module_names = False
# Annotations such as Callable[[str], None] are long.
maximum_signature_line_length = 70


def markdown(docstring: str) -> str:
    """Sections with entries, as the docstrings have them, to headings and lists."""

    def section(match: re.Match[str]) -> str:
        body = textwrap.dedent(match[2])
        if match[1] in ("Args", "Attributes", "Call arguments", "Raises"):
            body = re.sub(r"(?m)^([*\w.`, ]+): ", r"- **`\1`**: ", body)
        return f"**{match[1]}**\n\n{body}\n"

    text = re.sub(r"(?m)^(\w[\w ]*):\n((?: .*\n|\n)+)", section, docstring + "\n")
    return re.sub(r"(?m)^(Example|Masking|Reference|Training):", r"**\1**:", text)


class Reference(SphinxDirective):
    """Documents the names in its body, which a module has."""

    required_arguments = 1
    has_content = True

    def run(self):
        module = importlib.import_module(self.arguments[0])
        text = f"```{{py:currentmodule}} {module.__name__}\n```\n\n"
        for name in self.content:
            text += self.documented(name, getattr(module, name))
        return self.parse_text_to_nodes(text)

    def documented(self, name: str, thing: object, inside: bool = False) -> str:
        kind, inner, arguments = "method" if inside else "function", "", ""
        if isinstance(thing, property):
            kind = "property"
        elif inspect.isclass(thing):
            kind, arguments = "class", _signature(thing.__init__)
            inner = "".join(
                self.documented(part, getattr(thing, part), inside=True)
                for part, value in _own_parts(thing).items()
                if not part.startswith("_") and _has_own_text(value)
            )
        else:
            arguments = _signature(thing)
        fence = "`" * (4 if inside else 5)
        body = markdown(inspect.getdoc(thing))
        return f"{fence}{{py:{kind}}} {name}{arguments}\n{body}\n{inner}{fence}\n\n"


def _own_parts(thing: type) -> dict[str, object]:
    """Returns the members of a class, with those of mixins that are no layers."""
    parts: dict[str, object] = {}
    for base in reversed(thing.__mro__):
        is_ours = base.__module__.startswith("keras_elmo")
        if base is thing or (is_ours and not issubclass(base, keras.layers.Layer)):
            parts |= vars(base)
    return parts


def _has_own_text(value: object) -> bool:
    value = getattr(value, "__func__", value)
    kinds = inspect.isfunction(value) or isinstance(value, property)
    return kinds and bool(value.__doc__)


def _signature(function: object) -> str:
    signature = inspect.signature(function)
    given = [p for p in signature.parameters.values() if p.name != "self"]
    signature = signature.replace(parameters=given)
    return stringify_signature(signature, unqualified_typehints=True)


def _cards_here(app, docname: str, source: list[str]) -> None:
    """The models' cards lie outside of this folder; cards/ includes them."""
    source[0] = source[0].replace("../saved_models/elmo-", "cards/elmo-")


# What a screen reader or a keyboard needs beyond the theme's HTML.
_ACCESSIBLE = {
    'class="caption" role="heading"': 'class="caption" role="heading" aria-level="2"',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    '<div class="math-wrapper': '<div tabindex="0" class="math-wrapper',
    "<pre>": '<pre tabindex="0">',
}
# Parameters of a long signature, which Sphinx makes definitions of nothing.
_PARAMETERS = re.compile(r"<dl>\n((?:<dd>.*</dd>\n)+)</dl>\n")


def _accessible(app, pagename: str, template: str, context: dict, doctree) -> None:
    def lines(match: re.Match[str]) -> str:
        line = '<span style="display: block; margin-left: 2rem">'
        return match[1].replace("<dd>", line).replace("</dd>", "</span>")

    for part in ("body", "furo_navigation_tree"):
        text = _PARAMETERS.sub(lines, context.get(part, ""))
        for html, better in _ACCESSIBLE.items():
            text = text.replace(html, better)
        context[part] = text


def _whole_spreads(app, name, source):
    """Keeps a score and its spread in one line."""
    source[0] = source[0].replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")


def setup(app):
    app.add_directive("reference", Reference)
    app.connect("source-read", _cards_here)
    app.connect("source-read", _whole_spreads)
    # After the theme, which makes the navigation.
    app.connect("html-page-context", _accessible, priority=900)
