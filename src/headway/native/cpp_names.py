"""Names and texts of a query made fit for C++: identifiers, comments and string literals.

What stands in generated source comes from people's queries. No name, comment or constant of theirs
may become anything but a name, a comment or a constant, whatever characters it has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_KEYWORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
    char32_t class compl concept const consteval constexpr constinit const_cast continue co_await
    co_return co_yield decltype default delete do double dynamic_cast else enum explicit export
    extern false final float for friend goto if import inline int long module mutable namespace new
    noexcept not not_eq nullptr operator or or_eq override private protected public register
    reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast
    struct switch template this thread_local throw true try typedef typeid typename typeof union
    unsigned using virtual void volatile wchar_t while xor xor_eq
    """
# Macros and names of the system's headers, and the namespaces that generated code speaks of.
_TAKEN_BY_HEADERS = """
    alloca arm assert complex errno headway i386 linux major makedev main minor mips offsetof
    setjmp signbit std stderr stdin stdout unix
    """
RESERVED = frozenset(_KEYWORDS.split()) | frozenset(_TAKEN_BY_HEADERS.split())
_STRANGE = re.compile(r"[^A-Za-z0-9_]")
# A line that ends so goes on in the next one, even with blanks behind it.
_GOES_ON = re.compile(r"(\\|\?\?/)\s*$")
_LINE_ENDS = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def identifier(text: str) -> str:
    """The name itself where C++ allows it, else one like it: ``class`` becomes ``class_`` and
    ``use.port`` becomes ``use_port``. Names with two underscores in a row or one in front belong to
    the compiler, and those all in capitals may be macros."""
    name = re.sub(r"__+", "_", _STRANGE.sub("_", text))
    if name.startswith("_") or not name or name[0].isdigit():
        name = f"the{name}" if name.startswith("_") else f"the_{name}"
    shouted = len(name) > 1 and name == name.upper()
    if name in RESERVED or (shouted and not name.endswith("_")):
        name += "_"
    return name


def camel_case(text: str) -> str:
    """``use.port_speed`` as the name of a type: ``UsePortSpeed``."""
    words = [word for word in _STRANGE.sub("_", text).split("_") if word]
    return identifier("".join(word[0].upper() + word[1:] for word in words))


class Names:
    """Gives out identifiers, each once: two texts that would get the same name are numbered."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def take(self, text: str) -> str:
        """A name of a variable, a function or a column."""
        return self._unused(identifier(text))

    def take_type(self, text: str) -> str:
        """A name of a struct or class."""
        return self._unused(camel_case(text))

    def numbered(self, base: str) -> str:
        """``base1``, ``base2``, …: for what has no name in the query."""
        count = 1
        while f"{base}{count}" in self._taken:
            count += 1
        self._taken.add(f"{base}{count}")
        return f"{base}{count}"

    def _unused(self, name: str) -> str:
        unused, count = name, 1
        while unused in self._taken:
            count += 1
            unused = f"{name.rstrip('_')}_{count}"
        self._taken.add(unused)
        return unused


def comment_lines(text: str) -> list[str]:
    """The text as ``//`` lines that it cannot break out of. Invisible characters, among them those
    that turn the direction of writing, are shown by their number."""
    lines = []
    for line in _LINE_ENDS.split(text):
        shown = "".join(_shown(character) for character in line).rstrip()
        if _GOES_ON.search(shown):
            shown += " ."
        lines.append(f"// {shown}" if shown else "//")
    return lines


def _shown(character: str) -> str:
    if character == "\t":
        return "    "
    return character if character.isprintable() else f"<U+{ord(character):04X}>"


def string_literal(text: str) -> str:
    """A C++ string literal of the text's UTF-8. Octal numbers have all three digits, so that no
    digit behind one joins it, and question marks are escaped: two of them could begin a trigraph.
    """
    pieces = []
    for byte in text.encode("utf-8", "surrogatepass"):
        character = chr(byte)
        if character in '"\\?':
            pieces.append(f"\\{character}")
        elif 32 <= byte < 127:
            pieces.append(character)
        else:
            pieces.append(f"\\{byte:03o}")
    return '"' + "".join(pieces) + '"'
