"""Dialects and encodings of text files: read as they were written, or refused; never another table."""

import csv
import io

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from reading_tables import read_table

from tasks.errors import InputError, UnjoinError
from tasks.reading.read_input import recognised
from tasks.reading.texts import lines
from tasks.table_settings import Input

SIGNS = ["a", "b", "1", ",", ";", "|", "\t", "'", '"', "\\", " ", "\n", "\r", "\r\n", "é", "ł", ".", "-"]
cells = st.lists(st.sampled_from(SIGNS), max_size=4).map("".join)
names = st.sampled_from(["x", "é", "y z", "a.b", "n"])
dialects = st.tuples(
    st.sampled_from(",;\t|"), st.sampled_from("\"'"), st.booleans(), st.sampled_from(["\n", "\r\n", "\r"])
)


@st.composite
def tables(draw):
    width = draw(st.integers(2, 3))
    header = draw(st.lists(names, min_size=width, max_size=width, unique=True))
    rows = draw(st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=4))
    return [header, *rows]


def written(table, delimiter, quote, doubled, ends):
    """Return the text that Python's csv module writes; all cells in quotes, or line ends may not be."""
    text = io.StringIO(newline="")
    csv.writer(
        text,
        delimiter=delimiter,
        quotechar=quote,
        doublequote=doubled,
        escapechar=None if doubled else "\\",
        quoting=csv.QUOTE_ALL,
        lineterminator=ends,
    ).writerows(table)
    return text.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("dialects")


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.filter_too_much])
@given(
    tables(),
    dialects,
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "windows-1252", "cp1250"]),
    st.sets(st.sampled_from(["encoding", "delimiter", "quote"])),
)
def test_a_table_is_read_as_it_was_written_or_refused(folder, table, dialect, encoding, given_settings):
    delimiter, quote, doubled, ends = dialect
    text = written(table, delimiter, quote, doubled, ends)
    assume(doubled or f"\\{quote}" in text)  # where nothing is escaped, a backslash is one
    try:
        content = text.encode(encoding)
    except UnicodeEncodeError:
        return
    (folder / "t.csv").write_bytes(content)
    told = {"encoding": encoding, "delimiter": delimiter, "quote": quote}
    told = {name: value for name, value in told.items() if name in given_settings or value == "cp1250"}
    try:
        header, rows = read_table(folder / "t.csv", missing=[], **told)
    except UnjoinError as refused:
        assert len(given_settings) < 3 or "\\" in text, refused  # noqa: PT017 - the rest is what is wanted
    else:
        assert header == table[0]
        assert [list(row) for row in rows] == table[1:]


@given(st.text(alphabet="a\n\r", max_size=12), st.integers(0, 12), st.integers(0, 12))
def test_lines_are_the_same_however_the_text_comes_in_pieces(text, first, second):
    cuts = sorted((min(first, len(text)), min(second, len(text))))
    parts = [text[: cuts[0]], text[cuts[0] : cuts[1]], text[cuts[1] :]]
    found = list(lines(iter(parts)))
    assert "".join(found) == text
    assert found == list(io.StringIO(text, newline=""))


def found(path, content, **settings_given):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    table = recognised(Input.model_validate({"path": path, **settings_given}))
    return table.encoding, table.delimiter, table.quote


@pytest.mark.parametrize(
    ("text", "delimiter", "quote"),
    [
        ("x,y\n1,2\n", ",", '"'),
        ("x;y\n1,5;2,5\n", ";", '"'),
        ("x\ty\n1;2\t3\n", "\t", '"'),
        ("x|y\na,b|c\n", "|", '"'),
        ("x;y\n'a;b';'c'\n", ";", "'"),
        ("x,y\n'a,b',1\n", ",", "'"),
        ("x,y\n't Hart,1\nO'Neil,2\n", ",", '"'),
        ('x,y\n"a;b",1\n', ",", '"'),
        ("x\n1\n2\n", ",", '"'),
        ("x;y\n1\n2;3\n", ";", '"'),
    ],
)
def test_delimiter_and_quote_are_found(tmp_path, text, delimiter, quote):
    assert found(tmp_path / "t.csv", text) == ("utf-8", delimiter, quote)


@pytest.mark.parametrize("text", ["a,b;c\n1,2;3\n", "a|b;c\n1|2;3\n"])
def test_two_delimiters_that_both_fit_are_refused(tmp_path, text):
    with pytest.raises(InputError, match=r"^input.delimiter: t.csv can be read with several"):
        found(tmp_path / "t.csv", text)
    assert found(tmp_path / "t.csv", text, delimiter=";")[1] == ";"


@pytest.mark.parametrize("text", ["'x','y'\n'a','b'\n", "x,y\n'a',b\n"])
def test_quotes_that_may_be_part_of_the_cells_are_refused(tmp_path, text):
    with pytest.raises(InputError, match=r"^input.quote: t.csv can be read with either quote"):
        found(tmp_path / "t.csv", text)
    assert found(tmp_path / "t.csv", text, quote="'")[2] == "'"


def test_a_quote_after_the_sample_counts_too(tmp_path):
    rows = "1234567890,1234567890\n" * 60_000
    with pytest.raises(InputError, match="either quote"):
        found(tmp_path / "t.csv", f"x,y\n{rows}'a',2\n")
    assert found(tmp_path / "t.csv", f"x,y\n{rows}'a,b',2\n")[2] == "'"


def test_backslashes_escape_quotes_where_nothing_else_reads_the_file(tmp_path):
    (tmp_path / "t.csv").write_text('x,y\n"a\\"b, c",1\n"C:\\\\d",2\n')
    assert read_table(tmp_path / "t.csv")[1] == [('a"b, c', "1"), ("C:\\d", "2")]
    (tmp_path / "t.csv").write_text('x,y\n"C:\\d",1\n"a""b",2\n')
    assert read_table(tmp_path / "t.csv")[1] == [("C:\\d", "1"), ('a"b', "2")]


def test_of_a_file_of_tabs_the_delimiter_is_no_question(tmp_path):
    assert found(tmp_path / "t.tsv", "a,b\tc\n1,2\t3\n") == ("utf-8", "\t", '"')


@pytest.mark.parametrize(
    ("text", "written_in", "encoding"),
    [
        ("ort,n\nKöln,1\n", "utf-8", "utf-8"),
        ("ort,n\nKöln,1\n", "utf-8-sig", "utf-8"),
        ("ort,n\nKöln,1\n", "utf-16", "utf-16"),
        ("ort,n\nKöln,1\nGießen,2\nÜbersee,3\n", "latin-1", "windows-1252"),
        ("preis,n\n5 €,1\n„Köln“ \u2013 l\u2019été,2\n", "windows-1252", "windows-1252"),
        ("ville,n\nBesançon,1\nNîmes,2\nSœur,3\n", "windows-1252", "windows-1252"),
        ("by,n\nTromsø,1\nÅlesund,2\n", "windows-1252", "windows-1252"),
        ("x,n\na,1\n", "ascii", "utf-8"),
    ],
)
def test_encodings_are_found(tmp_path, text, written_in, encoding):
    assert found(tmp_path / "t.csv", text.encode(written_in))[0] == encoding
    assert read_table(tmp_path / "t.csv")[1][0][0] == text.splitlines()[1].split(",")[0]


@pytest.mark.parametrize(
    ("words", "written_in"),
    [
        (["Wrocław", "Łódź", "Gdańsk"], "cp1250"),
        (["Děčín", "Plzeň", "Příbram"], "iso8859-2"),
        (["Москва", "Омск"], "cp1251"),
        (["İstanbul", "Şanl\u0131urfa", "Muğla"], "cp1254"),
        (["東京", "大阪"], "shift_jis"),
        (["男", "女"], "gbk"),
        (["남", "여"], "euc_kr"),
        (["München", "Käfer"], "cp850"),
        (["München", "Köln"], "mac-roman"),
    ],
)
def test_other_encodings_are_refused_until_they_are_given(tmp_path, words, written_in):
    content = "\n".join(["x,n", *(f"{word},1" for word in words)]).encode(written_in)
    with pytest.raises(InputError, match=r"what else it is in cannot be told: set input\.encoding$"):
        found(tmp_path / "t.csv", content)
    assert [word for word, _ in read_table(tmp_path / "t.csv", encoding=written_in)[1]] == words


@pytest.mark.parametrize(
    ("content", "encoding", "line"),
    [
        (b"x,n\na,1\n\xffb,2\n", "utf-8", 3),
        (b"x,n\r\na,1\r\n\xffb,2\r\n", "utf-8", 3),
        (b"x,n\ra,1\r\xffb,2\r", "utf-8", 3),
        ("x,n\na,1\n".encode("utf-16") + b"\x00\xd8\x41\x00", "utf-16", 3),
        (b"x,n\na,\x81\n", "windows-1252", 2),
        (b"x,1234567890\n" * 90_000 + b"\xff", "utf-8", 90_001),
        (b"x,n\na,\xc3", "utf-8", 2),
    ],
)
def test_the_line_that_is_not_in_the_encoding_is_named(tmp_path, content, encoding, line):
    with pytest.raises(
        InputError, match=f"^input.path: line {line} of t.csv is not text in {encoding}: mend"
    ):
        found(tmp_path / "t.csv", content, encoding=encoding)


def test_a_nul_is_named_by_its_line(tmp_path):
    with pytest.raises(InputError, match=r"not text in utf-8: line 3 holds a NUL character$"):
        found(tmp_path / "t.csv", "x,n\na,1\nb\0,2\n")
