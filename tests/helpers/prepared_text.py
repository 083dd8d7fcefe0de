"""Texts that are prepared in small parts, and damage to them."""

LINES = [
    "We sat on the bank of the river .",
    "The bank closed early on Friday ; it opens again on Monday . The river does not !",
    'He said : " it is late . " Then he sat down .',
    "<S> is no word , nor is </S> ; an <UNK> is unknown .",
    "강가에 앉았다 . 은행은 일찍 문을 닫았다 。",
    f"a {'long' * 15}",
]


def write_texts(folder, times=7):
    """Writes three files of lines, blank ones and odd ones among them."""
    for number in range(3):
        lines = [f"{line} {number + k % 5}" for k in range(times) for line in LINES]
        content = "\n\n".join(lines[number:]).encode()
        odd = b"bad \xff byte\n" + "\u2028\u2003\n".encode()
        (folder / f"text-{number}.txt").write_bytes(odd + content + b"\n")
    return f"{folder}/text-*.txt"


def read_lines(text):
    """Returns the words of each line in a `PreparedText`."""
    return [
        [text.words[number].decode() for number in text.read_line(line)]
        for line, _ in text.lines(0, text.num_lines)
    ]
