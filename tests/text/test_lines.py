import gzip
import io
import lzma
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keras_elmo.text.lines import (
    READ_ANYTHING,
    expand_files,
    positioned_lines,
    read_lines,
    strict_lines,
)
from keras_elmo.text.stats import CorpusStats

WRITERS = {"txt": open, "gz": gzip.open, "xz": lzma.open}


def write(folder, content, kind="txt"):
    path = folder / f"part.{kind}"
    with WRITERS[kind](path, "wb") as file:
        file.write(content)
    return str(path)


def expected_lines(content):
    content = content.removeprefix(b"\xef\xbb\xbf")
    lines = []
    for line in content.split(b"\n"):
        line = line[:-1] if line.endswith(b"\r") else line
        text = line.replace(b"\0", b" ").decode("utf-8", "replace")
        if text.strip():
            lines.append(text)
    return lines


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=6),
            st.sampled_from([b"\n", b"\r\n", b"\r", b"\0", b"\xef\xbb\xbf", b"\x0c"]),
            st.sampled_from(["\u2028", "배", "\x85", " "]).map(str.encode),
        )
    ).map(b"".join)
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_in_every_form(tmp_path, content):
    for kind in WRITERS:
        report = CorpusStats()
        lines = list(read_lines([write(tmp_path, content, kind)], report))
        assert lines == expected_lines(content)
        assert report.lines == len(lines)


@pytest.mark.parametrize("kind", WRITERS)
def test_files_are_text(tmp_path, kind):
    """Files are checked where they are matched."""
    for content in ("은행 🏦\n" * 20_000, "가" * 60_000, "naïve café\n" * 9, "", " "):
        path = write(tmp_path, content.encode(), kind)
        assert expand_files(path) == [path]
    for content, said in {
        "Größe\n".encode("latin-1") * 300: "300 of 300 lines are not, and look like",
        "Größe\n".encode("latin-1") * 30_000: "of first 10,922 lines are not",
        "a bank".encode("utf-16"): "looks like UTF-16: convert it",
        gzip.compress(
            b"text"
        ): "is compressed by gzip: decompress it, or let its name end",
    }.items():
        path = write(tmp_path, content, kind)
        with pytest.raises(ValueError, match=f"{path} must be UTF-8 text; .*{said}"):
            expand_files(path)
        token = READ_ANYTHING.set(True)
        assert expand_files(path) == [path]
        READ_ANYTHING.reset(token)


def test_one_warning_for_each_form(tmp_path):
    for number in range(5):
        (tmp_path / f"{number}.tsv").write_text("1\tthe river bank\n" * 9)
    (tmp_path / "text.txt").write_text("the river bank\n" * 9)
    said = r"0\.tsv and 4 more: looks like a table .* by `cut -f 2`"
    with pytest.warns(UserWarning, match=said) as warned:
        assert len(expand_files(f"{tmp_path}/*")) == 6
    assert len(warned) == 1


def test_counts_what_it_changes(tmp_path):
    content = b"good\nb\xffd\xff\na\0b\0\n\n \xe2\x80\x83\n\xff\0\n"
    report = CorpusStats()
    assert list(read_lines([write(tmp_path, content)], report)) == [
        "good",
        "b\ufffdd\ufffd",
        "a b ",
        "\ufffd ",
    ]
    assert (report.lines, report.invalid_lines, report.lines_with_nul) == (4, 2, 2)


def test_byte_order_mark(tmp_path):
    """A mark is dropped at the start of each file only."""
    for name in ("a", "b"):
        (tmp_path / name).write_bytes("\ufeffx\n\ufeffy\n".encode())
    lines = list(read_lines(expand_files(f"{tmp_path}/*")))
    assert lines == ["x", "\ufeffy"] * 2


def test_a_line_of_a_megabyte(tmp_path):
    line = "가나 " * 150_000
    path = write(tmp_path, f"a\n{line}\nb".encode(), "xz")
    assert list(read_lines([path])) == ["a", line, "b"]


@pytest.mark.parametrize("kind", ["gz", "xz"])
@pytest.mark.parametrize("damage", ["cut", "changed", "not compressed"])
def test_damaged_files_are_named(tmp_path, kind, damage):
    path = write(tmp_path, os.urandom(100_000).hex().encode(), kind)
    with open(path, "rb") as file:
        content = bytearray(file.read())
    if damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "changed":
        content[len(content) // 2] ^= 0xFF
    else:
        content = bytearray(b"plain text\n")
    with open(path, "wb") as file:
        file.write(content)
    with pytest.raises(ValueError, match=rf"part\.{kind}: cut short or damaged"):
        list(read_lines([path]))


def test_expand_files(tmp_path):
    for name in ("b.txt", "a.txt", "c.gz", "odd[1].txt"):
        (tmp_path / name).touch()
    (tmp_path / "folder.txt").mkdir()
    (tmp_path / "folder.txt" / "d.txt").touch()

    def names(files):
        return [os.path.relpath(path, tmp_path) for path in expand_files(files)]

    assert names(f"{tmp_path}/*.txt") == ["a.txt", "b.txt", "odd[1].txt"]
    assert names([tmp_path / "c.gz", f"{tmp_path}/[bc].*"]) == ["b.txt", "c.gz"]
    assert names(tmp_path / "odd[1].txt") == ["odd[1].txt"]
    assert names(f"{tmp_path}/**/d.txt") == ["folder.txt/d.txt"]
    with pytest.raises(ValueError, match=f"{os.devnull} must be a file, not a pipe or"):
        expand_files(os.devnull)
    with pytest.raises(ValueError, match=r"no file matches '.*/x\*'"):
        expand_files([tmp_path / "a.txt", f"{tmp_path}/x*"])
    with pytest.raises(ValueError, match="it is a folder"):
        expand_files(tmp_path)
    with pytest.raises(ValueError, match="`files` must be a path or glob pattern"):
        expand_files([])
    for wrong in (3, [3], None):
        with pytest.raises(TypeError, match="`files` must be a path or glob pattern"):
            expand_files(wrong)


LINES = [f"line {k} of a text that is long enough" for k in range(100_000)]


@pytest.mark.parametrize("name", ["plain.txt", "packed.txt.gz", "packed.txt.xz"])
def test_positions(name, tmp_path):
    """Each line comes after the bytes on the disk before it."""
    path = tmp_path / name
    content = "\n".join(LINES).encode()
    compress = {".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix, bytes)
    path.write_bytes(compress(content))
    report = CorpusStats()
    positions, lines = zip(*positioned_lines(str(path), report), strict=True)
    assert list(lines) == LINES
    assert positions[0] == 0 and list(positions) == sorted(positions)
    # A packed file is read in pieces.
    size = path.stat().st_size
    assert 0.3 < positions[50_000] / size < 0.7
    assert positions[-1] / size == pytest.approx(1, abs=1e-3)
    assert report.lines == len(LINES)


def test_an_empty_file(tmp_path):
    (tmp_path / "empty.txt").touch()
    assert list(positioned_lines(str(tmp_path / "empty.txt"))) == []
    assert list(strict_lines("-", io.BytesIO())) == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a\n" * 300 + b"h\xe9\n", "line 301: must be UTF-8 text without NULs"),
        (b"a\n\nb\0\n", "line 3: must be UTF-8 text without NULs. Received: 'b '"),
        (b"a\rb\r", "line 1: must hold no CR but at its end"),
    ],
)
def test_strict_lines(content, said, tmp_path):
    """In strict files and streams, what is replaced elsewhere is an error."""
    path = write(tmp_path, content)
    for name, stream in ((path, None), ("-", io.BytesIO(content))):
        with pytest.raises(ValueError, match=f"^{name}, {said}"):
            list(strict_lines(name, stream))
    fine = "\ufeffa\r\n\n배\u2028b".encode()
    wanted = [(1, "a"), (2, ""), (3, "배\u2028b")]
    assert list(strict_lines(write(tmp_path, fine))) == wanted
    assert list(strict_lines("-", io.BytesIO(fine))) == wanted
