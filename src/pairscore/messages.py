"""Messages as data: what is wrong, what to do, and the settings concerned, until somebody is told.

A message has texts in which settings stand as themselves, so that each front end words them as its
users know them:

    Message("the items have no features", "use " + Setting("method", "mle"))

    Python              the items have no features; use method='mle'.
    the command line    the items have no features; use --method mle.
    a page              The items have no features; use the method mle.

:func:`in_python` words settings for Python, ``cli.words`` for the command line, and
``report.words`` for a page. Nobody reads a text to learn what it is about.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

ENDS = (".", "?")  # a text that ends so is a whole sentence


class _Unset:
    """That a setting is named without a value."""

    def __repr__(self) -> str:
        return "UNSET"

    def __reduce__(self) -> str:
        return "UNSET"  # there is one, in every process


UNSET: Any = _Unset()


class Part:
    """What a front end has words for. Added to a text it makes a :class:`Text`."""

    def __add__(self, other: "Piece") -> "Text":
        return Text.of(self, other)

    def __radd__(self, other: str) -> "Text":
        return Text.of(other, self)

    def __format__(self, style: str) -> str:
        raise TypeError(f"add {self!r} to a text instead of formatting it, which would word it now")


@dataclass(frozen=True)
class Setting(Part):
    """An argument of Python, such as ``method='mle'``, or its name alone.

    Its name is that of the argument; its value may stand for one, as in ``id='NAME'``.
    """

    name: str
    value: Any = UNSET

    def __hash__(self) -> int:
        return hash((self.name, repr(self.value)))  # a value may be a list


@dataclass(frozen=True)
class Value(Part):
    """A value that a setting may have, such as True, which the command line writes ``yes``."""

    value: Any

    def __hash__(self) -> int:
        return hash(repr(self.value))


@dataclass(frozen=True)
class Action(Part):
    """Something that Python does by a call and the command line by a command or a file.

    Its name is the function's.
    """

    name: str


Words: TypeAlias = Callable[[Part], str | None]  # None where a front end has no such thing


@dataclass(frozen=True)
class Text:
    """A text with settings, values, actions and other messages in it, in the order of ``parts``."""

    parts: "tuple[str | Part | Message, ...]"

    @classmethod
    def of(cls, *pieces: "Piece") -> "Text":
        """One text of several pieces."""
        parts: list[str | Part | Message] = []
        for piece in pieces:
            parts += piece.parts if isinstance(piece, Text) else [piece]
        return cls(tuple(parts))

    def __add__(self, other: "Piece") -> "Text":
        return Text.of(self, other)

    def __radd__(self, other: str) -> "Text":
        return Text.of(other, self)

    def __format__(self, style: str) -> str:
        raise TypeError("add a text to another instead of formatting it, which would word it now")

    def __str__(self) -> str:
        return self.worded()

    def __bool__(self) -> bool:
        """Whether it says anything."""
        return any(part != "" for part in self.parts)

    def worded(self, words: Words | None = None) -> str:
        """The text for one front end; what it has no words for, by its plain name."""
        words = words or in_python
        return "".join(
            part
            if isinstance(part, str)
            else part.worded(words)
            if isinstance(part, Message)
            else words(part) or plain_name(part)
            for part in self.parts
        )

    def is_known(self, words: Words) -> bool:
        """Whether a front end has words for everything in the text."""
        return all(words(part) is not None for part in self.parts if isinstance(part, Part))

    def settings(self) -> Iterator[Setting]:
        """The settings that it names, also within other messages."""
        for part in self.parts:
            if isinstance(part, Setting):
                yield part
            elif isinstance(part, Message):
                yield from part.settings()

    def to_record(self) -> list[Any]:
        """Plain values, for JSON."""
        return [_to_record(part) for part in self.parts]

    @classmethod
    def from_record(cls, record: Sequence[Any]) -> "Text":
        """The text that made the record."""
        return cls(tuple(_from_record(part) for part in record))


@dataclass(frozen=True)
class Message:
    """What is wrong, and what to do about it: one of several ``remedies``, or none that is known.

    A front end leaves out remedies that it has no words for.
    """

    problem: Text
    remedies: tuple[Text, ...] = ()

    @classmethod
    def of(cls, problem: "Piece", remedy: "Piece | Sequence[Piece]" = ()) -> "Message":
        """A message; ``remedy`` is one text or several that would each do."""
        if isinstance(problem, Message) and not remedy:
            return problem
        if isinstance(remedy, str | Part | Text | Message):
            remedy = [remedy] if remedy else []
        return cls(Text.of(problem), tuple(Text.of(one) for one in remedy))

    def __add__(self, other: "Piece") -> Text:
        return Text.of(self, other)

    def __radd__(self, other: str) -> Text:
        return Text.of(other, self)

    def __str__(self) -> str:
        return self.worded()

    def clause(self, words: Words | None = None) -> str:
        """The message for one front end, with what to do behind a semicolon, as no sentence yet."""
        words = words or in_python
        known = [remedy.worded(words) for remedy in self.remedies if remedy.is_known(words)]
        return "; ".join([self.problem.worded(words), *([", or ".join(known)] if known else [])])

    def worded(self, words: Words | None = None) -> str:
        """The message for one front end, as a sentence."""
        clause = self.clause(words)
        return clause if not clause or clause.endswith(ENDS) else f"{clause}."

    def settings(self) -> Iterator[Setting]:
        """The settings that it names."""
        for text in (self.problem, *self.remedies):
            yield from text.settings()

    def without(self, settings: Collection[str], instead: "Piece") -> "Message":
        """The message where nobody has these settings: another remedy in place of those with them.

        >>> unclear = Message.of("who won is unclear", ["rename", "use " + Setting("winner_codes")])
        >>> str(unclear.without(["winner_codes"], "fit everything at once"))
        'who won is unclear; rename, or fit everything at once.'
        """
        kept = [one for one in self.remedies if not {s.name for s in one.settings()} & {*settings}]
        return (
            self if len(kept) == len(self.remedies) else Message.of(self.problem, [*kept, instead])
        )

    def to_record(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        record: dict[str, Any] = {"problem": self.problem.to_record()}
        if self.remedies:
            record["remedies"] = [text.to_record() for text in self.remedies]
        return record

    @classmethod
    def from_record(cls, record: Any) -> "Message":
        """The message that made the record; a text is a message of before, without settings."""
        if isinstance(record, str):
            return cls.of(record)
        remedies = map(Text.from_record, record.get("remedies", ()))
        return cls(Text.from_record(record["problem"]), tuple(remedies))


Piece: TypeAlias = str | Part | Text | Message


def _to_record(part: str | Part | Message) -> Any:
    match part:
        case str():
            return part
        case Message():
            return {"message": part.to_record()}
        case Setting(name, value):
            return {"setting": name} | ({} if value is UNSET else {"value": value})
        case Value(value):
            return {"value": value}
        case Action(name):
            return {"action": name}
    raise TypeError(f"no part of a text: {part!r}")


def _from_record(record: Any) -> str | Part | Message:
    match record:
        case str():
            return record
        case {"message": inner}:
            return Message.from_record(inner)
        case {"setting": str(name), **rest}:
            return Setting(name, rest.get("value", UNSET))
        case {"action": str(name)}:
            return Action(name)
        case {"value": value}:
            return Value(value)
    raise ValueError(f"no record of a text: {record!r}")


# -- words ---------------------------------------------------------------------------------------


def in_python(part: Part) -> str:
    """A setting as an argument of a call.

    >>> in_python(Setting("method", "mle")), in_python(Setting("n_items")), in_python(Value(True))
    ("method='mle'", 'n_items', 'True')
    """
    match part:
        case Setting(name, value):
            return name if value is UNSET else f"{name}={value!r}"
        case Value(value):
            return repr(value)
        case Action(name):
            return name
    raise TypeError(f"no part of a text: {part!r}")


def plain_name(part: Part) -> str:
    """What a setting is called where nobody has words for it.

    >>> plain_name(Setting("item_effects", True)), plain_name(Setting("l2", 0.5))
    ('item effects', 'l2 0.5')
    """
    match part:
        case Setting(name, value):
            name = name.replace("_", " ")
            return name if value is UNSET or value is True else f"{name} {plain_value(value)}"
        case Value(value):
            return plain_value(value)
        case Action(name):
            return name.replace("_", " ")
    raise TypeError(f"no part of a text: {part!r}")


def plain_value(value: Any) -> str:
    """A value in words.

    >>> plain_value(True), plain_value(None), plain_value(1.0), plain_value(["a", "b"])
    ('yes', 'none', '1', 'a, b')
    """
    if value is None or isinstance(value, bool):
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {plain_value(one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(plain_value, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def join(separator: str, pieces: Iterable[Piece]) -> Text:
    """One text of several, as ``str.join``."""
    parts: list[Piece] = []
    for piece in pieces:
        parts += [separator, piece] if parts else [piece]
    return Text.of(*parts)


def either(pieces: Sequence[Piece], last: str = " or ") -> Text:
    """The pieces with commas and, before the last, a word.

    >>> str(either([Setting("angle"), Setting("misordered"), Value(None)]))
    'angle, misordered or None'
    """
    pieces = list(pieces)
    if len(pieces) < 2:
        return Text.of(*pieces)
    return join(", ", pieces[:-1]) + last + pieces[-1]
