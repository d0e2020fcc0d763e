import pytest
from prereg_studies import registration

from manifests.errors import FindingsError
from prereg.block import BEGIN, END, find_block, with_hash_line, with_lf

GOOD = registration()
BEGIN_LINE, END_LINE = f"{BEGIN}\n".encode(), f"{END}\n".encode()


def findings(data):
    with pytest.raises(FindingsError) as caught:
        _ = find_block(data, where="P.md").design
    assert all(one.where.startswith("P.md") for one in caught.value.findings)
    return [f"{one.where} {one.what}" for one in caught.value.findings]


def test_the_block_is_the_raw_bytes_between_the_marker_lines():
    block = find_block(
        b"a\n" + BEGIN_LINE + b"x\r".replace(b"\r", b"") + b"\ny" + b"\n" + END_LINE, where="P.md"
    )
    assert (b"x\ny\n", 2, 5) == (block.raw, block.begin_line, block.end_line)


def test_an_empty_block_and_a_file_that_ends_with_the_marker_are_read():
    assert b"" == find_block(BEGIN_LINE + END.encode(), where="P.md").raw


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", [f"P.md has no line {BEGIN}", f"P.md has no line {END}"]),
        (GOOD.replace(END_LINE, b""), [f"P.md has no line {END}"]),
        (GOOD.replace(BEGIN_LINE, b""), [f"P.md has no line {BEGIN}"]),
        (GOOD + END_LINE, [f"P.md:61 a further {END}, after the one on line 58"]),
        (GOOD.replace(b"Is it", BEGIN_LINE + b"Is it"), [f"P.md:4 a further {BEGIN}, after the one on line 3"]),
        (GOOD + BEGIN_LINE + END_LINE, [f"P.md:61 a further {BEGIN}, after the one on line 3", f"P.md:62 a further {END}, after the one on line 58"]),
        (END_LINE + b"x\n" + BEGIN_LINE, [f"P.md:1 {END} stands above {BEGIN} (line 3)"]),
        (GOOD.replace(BEGIN_LINE, b" " + BEGIN_LINE), ["P.md:3 is almost a marker"]),
        (GOOD.replace(END_LINE, b"<!--PREREG:END-->\n"), ["P.md:58 is almost a marker"]),
        (b"\xef\xbb\xbf" + GOOD, ["P.md:1 starts with a byte order mark"]),
        (GOOD.replace(b"better", b"bett\rer"), ["P.md:4 a carriage return stands in the block"]),
        (GOOD.replace(b"better", b"bett\xffer"), ["P.md:4 is not UTF-8 (byte 0xff)"]),
        (GOOD.replace(b"```toml design", b"```toml"), ["P.md:3 the block holds no design fence; the fence on line 6 says 'toml'"]),
        (GOOD + b"~~~ toml design\n~~~\n", ["P.md:61 a design fence stands outside the block, where nothing freezes it"]),
        (GOOD.replace(b"Is it", b"```toml design\n```\nIs it"), ["P.md:8 a second design fence, after the one on line 4"]),
    ],
)  # fmt: skip
def test_whatever_makes_the_block_doubtful_is_refused_with_its_line(data, expected):
    lines = GOOD.count(b"\n")
    assert 60 == lines  # the line numbers above hang on it
    found = findings(data)
    assert expected == [one for one in found if one in expected]
    assert len(expected) == len(found)


def test_crlf_is_named_on_both_marker_lines():
    assert ["P.md:3 the line ends with CR LF", "P.md:58 the line ends with CR LF"] == findings(
        GOOD.replace(b"\n", b"\r\n")
    )


@pytest.mark.parametrize(
    ("opening", "closing"), [("```", "```"), ("~~~", "~~~"), ("`````", "`````"), ("  ~~~~ text", "~~~~~~")]
)
def test_markers_that_stand_only_inside_a_fence_do_not_count(opening, closing):
    wrapped = f"{opening}\n".encode() + BEGIN_LINE + b"x\n" + END_LINE + f"{closing}\n".encode()
    expected = [f"the only {marker} stands inside the fence that opens on line 1" for marker in (BEGIN, END)]
    assert expected == [one.partition(" ")[2] for one in findings(wrapped)]


@pytest.mark.parametrize("inner", ["```", "~~~~", "````", "`````", "`````x", "    ~~~~~"])
def test_a_fence_is_closed_only_by_its_own_mark_at_least_as_long(inner):
    mark = "~~~~~" if inner != "````" else "`````"
    data = f"{mark}\n{inner}\n{BEGIN}\n{mark}\n".encode() + BEGIN_LINE + b"x\n" + END_LINE
    assert b"x\n" == find_block(data, where="P.md").raw


def test_an_example_inside_a_fence_does_not_disturb_the_real_markers():
    data = b"~~~\n" + BEGIN_LINE + END_LINE + b"~~~\n" + GOOD
    assert find_block(GOOD, where="P.md").sha256 == find_block(data, where="P.md").sha256


def test_a_fence_opened_above_the_block_hides_it_loudly():
    assert any("stands inside the fence" in one for one in findings(b"```\n" + GOOD))


def test_backticks_inside_an_info_string_open_no_fence():
    assert find_block(b"``` a`b\n" + GOOD, where="P.md").raw == find_block(GOOD, where="P.md").raw


def test_the_hash_line_goes_right_below_the_block_and_no_other_byte_changes():
    block = find_block(GOOD, where="P.md")
    written = with_hash_line(GOOD, block)
    line = f"PREREG_SHA256: {block.sha256}\n".encode()
    assert GOOD == written.replace(line, b"", 1)
    assert written.index(line) == written.index(END_LINE) + len(END_LINE)
    assert [block.sha256] == [one.sha256 for one in find_block(written, where="P.md").hash_lines]


def test_the_hash_line_is_written_below_a_last_line_without_newline():
    data = BEGIN_LINE + b"x\n" + END.encode()
    block = find_block(data, where="P.md")
    assert data + f"\nPREREG_SHA256: {block.sha256}\n".encode() == with_hash_line(data, block)


@pytest.mark.parametrize(
    "line",
    [
        b"PREREG_SHA256: abc",
        b"PREREG_SHA256 " + b"a" * 64,
        b"prereg_sha256: " + b"a" * 64,
        b" PREREG_SHA256: " + b"a" * 64,
    ],
)
def test_a_malformed_hash_line_is_seen_and_holds_no_hash(line):
    assert [""] == [one.sha256 for one in find_block(GOOD + line + b"\n", where="P.md").hash_lines]


def test_line_endings_and_byte_order_mark_are_all_that_with_lf_takes():
    assert b"a\nb\nc\n" == with_lf(b"\xef\xbb\xbfa\r\nb\rc\n")


def test_five_megabytes_are_read():
    data = BEGIN_LINE + b"a line of prose, fifty bytes long, no more than it\n" * 100_000 + END_LINE
    assert 5_000_000 < len(find_block(data, where="P.md").raw)
