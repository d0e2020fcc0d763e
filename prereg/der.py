"""DER, as far as a timestamp token needs it: read one element after another, and write a request. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass

SEQUENCE, SET, INTEGER, BOOLEAN, OCTETS, OID, TIME = 0x30, 0x31, 0x02, 0x01, 0x04, 0x06, 0x18


class DerError(ValueError):
    """The bytes are no DER of the expected shape."""


@dataclass(frozen=True, slots=True)
class Element:
    """One element: its tag and its content."""

    tag: int
    content: bytes

    def children(self) -> tuple[Element, ...]:
        """The elements inside."""
        return read_all(self.content)

    def child(self, index: int, tag: int) -> Element:
        """The element at `index`, which must have this tag."""
        children = self.children()
        if index >= len(children) or children[index].tag != tag:
            raise DerError(f"no element with tag 0x{tag:02x} at place {index}")
        return children[index]


def read_all(data: bytes) -> tuple[Element, ...]:
    """Every element of `data`, one behind the other; lengths that reach beyond the end are refused."""
    elements = []
    at = 0
    while at < len(data):
        if at + 2 > len(data):
            raise DerError("cut inside an element's header")
        tag, length = data[at], data[at + 1]
        at += 2
        if length & 0x80:
            count = length & 0x7F
            if not 1 <= count <= 4 or at + count > len(data):
                raise DerError("an element's length cannot be read")
            length = int.from_bytes(data[at : at + count], "big")
            at += count
        if at + length > len(data):
            raise DerError("an element is cut short")
        elements.append(Element(tag, data[at : at + length]))
        at += length
    return tuple(elements)


def write(tag: int, *contents: bytes) -> bytes:
    """One element around the contents."""
    content = b"".join(contents)
    if len(content) < 0x80:
        return bytes([tag, len(content)]) + content
    length = len(content).to_bytes((len(content).bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content


def write_integer(value: int) -> bytes:
    """A non-negative integer."""
    return write(INTEGER, value.to_bytes(value.bit_length() // 8 + 1, "big"))
