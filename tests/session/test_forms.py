"""The form of a reply in a session: which schema is taken, and what becomes of the reply."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import sys
from dataclasses import dataclass, field, make_dataclass, replace
from typing import Any

import pytest
from asking import Seen, stop
from cases import each_case
from environments import GivenEnvironment
from libraries import library
from logged import Emulator

from chatmagic.advice import KEPT
from chatmagic.conversation.question import Schema
from chatmagic.errors import ChatInterrupted, InputError, ReplyFormatError
from chatmagic.models import Reply
from chatmagic.session import forms
from chatmagic.session.ask import Ask
from chatmagic.session.forms import name_of, problem, schema_of
from chatmagic.session.session import Session


@dataclass
class City:
    """A city."""

    name: str


class Color(enum.Enum):
    """What a thing looks like."""

    RED = "red"
    BLUE = 2


@dataclass
class Thing:
    """A thing that holds others."""

    name: str
    color: Color
    day: dt.date
    price: decimal.Decimal
    size: tuple[int, float]
    parts: list[Thing] = field(default_factory=list, metadata={"description": "what it is made of"})
    tags: set[str] = field(default_factory=set)
    more: str | int | None = None


JSON = {"name": "Ada", "color": "red", "day": "2026-01-02", "price": "1.50", "size": [1, 2]}
LIMA = 'echo:{"name": "Lima"}'


def newest(emulator: Emulator) -> str:
    """Give the newest message that was sent."""
    return str(emulator.requests[-1].body["messages"][-1]["content"])


def test_a_schema_gives_the_instance(session: Session, emulator: Emulator) -> None:
    """The reply has it, and its text as it came."""
    reply = session.ask(LIMA, schema=City)
    assert reply.parsed == City("Lima")
    assert reply.text == '{"name": "Lima"}'
    assert '"description": "A city."' in newest(emulator)
    assert session.ask("echo:[1]", format="json", history=False).parsed == [1]
    assert session.ask("echo:[1]").parsed is None


def test_a_follow_up_takes_the_nearest_schema_also_where_its_turn_is_left_out(
    session: Session, emulator: Emulator
) -> None:
    """It is told whole again; what stands alone takes none."""
    session.ask(LIMA, schema=City)
    session.ask("echo:prose")
    assert session.ask(LIMA, format="json", last=1).parsed == City("Lima")
    assert newest(emulator).endswith(f'"type": "object"\n}}\n\n{LIMA}')
    assert session.ask(LIMA, format="json", history=False).parsed == {"name": "Lima"}


def test_a_schema_of_a_loaded_turn_is_looked_up_by_its_name(session: Session) -> None:
    """What a file tells is the name alone."""
    session.ask(LIMA, schema=City)
    (turn,) = session.conversation
    session.changes.make(lambda conversation: conversation.undo())
    session.changes.make(lambda conversation: conversation.add(replace(turn, form=None)))
    with pytest.raises(InputError, match="The schema City is not known here"):
        session.ask(LIMA, format="json")
    environment = GivenEnvironment(service=session.environment.service)
    vars(environment)["named"] = {"City": City}.__getitem__
    session.environment = environment
    assert session.ask(LIMA, format="json").parsed == City("Lima")


def test_a_reply_of_another_form_is_shown_kept_and_raised(session: Session) -> None:
    """In this order: whatever fails, the text is there."""
    seen = Seen()
    with pytest.raises(ReplyFormatError) as caught:
        session.run(Ask('echo:{"name": 1}', schema="City", form=city()), seen)
    assert seen.told[-1][0] == "ended"
    (turn,) = session.conversation
    assert caught.value.reply == turn.reply
    assert caught.value.message.endswith("name: Input should be a valid string.")


def test_a_schema_that_is_stopped_leaves_the_turn(session: Session) -> None:
    """The user's own code may never end; the reply was kept before it ran."""
    ask = Ask(LIMA, schema="City", form=Schema("City", {}, stop))
    with pytest.raises(ChatInterrupted) as caught:
        session.run(ask, Seen())
    assert caught.value.message == "Interrupted after the reply's end; it is kept."
    assert len(session.conversation) == 1


def test_a_reply_that_is_cut_short_is_not_read(session: Session) -> None:
    """What ended it is the error; a limit of tokens is named."""
    with pytest.raises(
        ReplyFormatError, match=r"^The reply ended at its limit of tokens, and is no JSON"
    ):
        session.ask("echo:[1, 2, 3]", format="json", max_tokens=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no", "The reply is no JSON: line 1, column 1: Expecting value."),
        ("[]", "The reply is JSON, and not of the form City: Input should be an object."),
    ],
)
def test_an_error_says_what_and_where(text: str, message: str) -> None:
    """And where the text is, whether its turn is kept or not."""
    for kept, hint in ((True, KEPT.python), (False, forms.NOT_A_TURN)):
        with pytest.raises(ReplyFormatError) as caught:
            forms.parsed(Reply(text), city(), kept=kept)
        assert (caught.value.message, caught.value.hint) == (message, hint)
        assert caught.value.reply == Reply(text)


def city() -> Schema:
    """Give the schema of a city."""
    return schema_of(City, "City")


def test_a_dataclass_is_told_and_made() -> None:
    """With the classes in it, and with itself; a field that it does not have is left out."""
    schema = schema_of(Thing, "Thing")
    assert schema.text.startswith("Thing: a value of this JSON schema\n\n{")
    assert all(part in schema.text for part in ('"Color"', '"day"', "what it is made of"))
    made = schema.read(JSON | {"tags": ["x"], "more": 3, "new": 1, "parts": [JSON]})
    inner = Thing("Ada", Color.RED, dt.date(2026, 1, 2), decimal.Decimal("1.50"), (1, 2.0))
    assert made == replace(inner, parts=[inner], tags={"x"}, more=3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": 1}, "name: Input should be a valid string"),
        ({"color": "green"}, "color: Input should be 'red' or 2"),
        ({"parts": [{"name": "x"}]}, "parts.0.color: Field required (3 more)"),
        ({"size": ["1", 2]}, "size.0: Input should be a valid integer"),
    ],
)
def test_json_of_another_form_is_refused_with_where(changes: dict[str, Any], words: str) -> None:
    """By the path to the field; a text is no number."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - each has words of its own
        schema_of(Thing, "Thing").read(JSON | changes)
    assert problem(caught.value) == words


def test_a_json_schema_checks_and_gives_the_value() -> None:
    """As it is, in Python's own types."""
    inner = {"type": "array", "items": {"type": "integer", "maximum": 3}}
    schema = schema_of({"properties": {"a": inner}, "required": ["a"]}, "S")
    assert schema.read({"a": [1]}) == {"a": [1]}
    for value, words in (({"a": [1, 4]}, "a[1]: 4 is greater than"), ({}, "'a' is a required")):
        with pytest.raises(Exception, match="is ") as caught:
            schema.read(value)
        assert problem(caught.value).startswith(words)


def test_a_json_schema_fetches_nothing() -> None:
    """What it refers to elsewhere is refused; what the check alone finds is not looked for."""
    with pytest.raises(InputError, match="which it does not hold"):
        schema_of({"anyOf": [{"$ref": "http://127.0.0.1:9/x.json"}]}, "S")
    schema = schema_of({"$dynamicRef": "http://127.0.0.1:9/x.json"}, "S")
    with pytest.raises(Exception, match="Unresolvable"):
        schema.read(1)


def test_a_pydantic_model_reads_by_its_own_rules() -> None:
    """As an adapter, too; a type made of it is read strictly."""
    pydantic = library("pydantic")
    city = pydantic.create_model("City", people=(int, pydantic.Field(description="a count")))
    cities: Any = list.__class_getitem__(city)
    assert '"description": "a count"' in schema_of(city, "City").text
    assert schema_of(city, "City").read({"people": "3"}).people == 3
    adapter = schema_of(pydantic.TypeAdapter(cities), "cities")
    assert adapter.text.startswith("cities: a value of this JSON schema\n\n{")
    assert adapter.read([{"people": "3"}])[0].people == 3
    with pytest.raises(pydantic.ValidationError) as caught:
        schema_of(cities, "cities").read([{"people": "3"}])
    assert problem(caught.value) == "0.people: Input should be a valid integer"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (3, "Unable to generate pydantic-core schema for 3"),
        ({"type": object()}, "Object of type object is not JSON serializable"),
        ({"type": "any"}, "type: 'any' is not valid"),
        ({"minimum": "1"}, "minimum: '1' is not of type 'number'"),
        ({"$ref": "https://x.example"}, "it refers to https://x.example, which it does not hold"),
    ],
)
def test_what_is_no_schema_is_refused(value: object, reason: str) -> None:
    """Before anything is sent."""
    with pytest.raises(InputError) as caught:
        schema_of(value, "x")
    assert caught.value.message.startswith(f"x is no schema that can be used: {reason}")
    assert caught.value.message.endswith(". Nothing was sent.")
    with pytest.raises(InputError, match=r"^schema is text, not the object itself\. Nothing was"):
        schema_of("Thing", name_of("Thing"))


def test_a_schema_given_as_an_object_has_a_name() -> None:
    """Its own, or a plain one."""
    assert [name_of(each) for each in (Thing, {"title": "T"}, {}, 3)] == [
        "Thing", "T", "Reply", "Reply",
    ]  # fmt: skip


def test_without_pydantic_a_type_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing is sent."""
    monkeypatch.setitem(sys.modules, "pydantic", None)
    with pytest.raises(InputError, match=r"pip install 'chatmagic\[schema\]'.*Nothing was sent"):
        schema_of(make_dataclass("Bare", ["x"]), "Bare")


NODE: dict[str, Any] = {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}}}


@each_case(
    ("document", "inner"),
    [
        ({"type": "object"}, None),
        ({"properties": {}}, None),
        ({"$ref": "#/$defs/N", "$defs": {"N": NODE}}, None),
        ({"type": "integer"}, {"type": "integer"}),
        ({}, {}),
        ({"$ref": "#/$defs/gone"}, {"$ref": "#/$defs/gone"}),
        ({"$ref": "#/$defs/N", "$defs": {"N": {"$ref": "#/$defs/N"}}}, {"$ref": "#/$defs/N"}),
        (
            {"type": "array", "items": {"anyOf": [{"$ref": "#"}, {"$ref": "#/x"}, {"$ref": 1}]}},
            {
                "type": "array",
                "items": {
                    "anyOf": [
                        {"$ref": "#/properties/value"},
                        {"$ref": "#/properties/value/x"},
                        {"$ref": 1},
                    ]
                },
            },
        ),
    ],
)
def test_a_root_that_is_no_object_is_put_into_one(
    document: dict[str, Any], inner: dict[str, Any] | None
) -> None:
    """With references to the places where its parts are then."""
    sent = forms.in_an_object(document)
    if inner is None:
        assert sent is document
    else:
        assert sent["properties"] == {"value": inner}
        assert sent.get("$defs") == document.get("$defs")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"value": [1]}', [1]),
        ("[1]", [1]),
        ('{"value": {"value": [1]}}', None),
        ('{"value": [1], "more": 1}', None),
        ('{"value": "x"}', None),
    ],
)
def test_a_value_is_taken_out_of_the_object_around_it(text: str, value: object) -> None:
    """Of that object alone, and only for a schema that was put into it."""
    schema = forms.schema_of({"type": "array", "items": {"type": "integer"}}, "numbers")
    if value is None:
        with pytest.raises(ReplyFormatError):
            forms.parsed(Reply(text), schema, kept=True)
    else:
        assert forms.parsed(Reply(text), schema, kept=True).parsed == value
    one = forms.schema_of({"type": "object"}, "any")
    assert forms.parsed(Reply('{"value": [1]}'), one, kept=True).parsed == {"value": [1]}
