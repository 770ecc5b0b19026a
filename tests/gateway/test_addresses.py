"""Addresses: their parts, and what is wrong with those that are none."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.gateway.trial import trial_plan

from headway.errors import InputError
from headway.gateway.gateway_base import GATEWAYS, MessageGateway, address_of
from headway.gateway.live_query import Links
from headway.gateway.message_columns import message_names
from headway.model.schema import schema

TREE = "Vehicle:\n  type: branch\n  description: x\n\n#include More.vspec Vehicle\n"
MORE = """
Speed: {type: sensor, datatype: float, unit: km/h, description: How fast.}
Count: {type: sensor, datatype: uint32, description: How many.}
"""


def test_the_parts() -> None:
    gateway, address = address_of("mqtt://me@[::1]:99/car/a%20b?payload=cbor&password_env=HOME")
    assert (gateway.name, address.host, address.port) == ("mqtt", "[::1]", 99)
    assert (address.place, address.user, address.options["payload"]) == ("car/a b", "me", "cbor")
    assert address.password


@pytest.mark.parametrize("name", GATEWAYS)
def test_every_gateway(name: str) -> None:
    gateway = GATEWAYS[name]
    assert isinstance(gateway, MessageGateway)
    assert gateway.summary
    assert all(gateway.takes.values())
    found, address = address_of(f"{name}://host/place")
    assert (found, address.place) == (gateway, "place")


FORM = "write SCHEME://HOST[:PORT]/PLACE[?OPTION=VALUE&…]"
SCHEMES = "SCHEME one of mqtt, mqtts, zenoh, kafka, can"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("speed", f"no address; got speed; {FORM}, {SCHEMES}"),
        ("http://h/t", f"no address; got http://h/t; {FORM}, {SCHEMES}"),
        ("mqtt:///t", f"no address; got mqtt:///t; {FORM}, {SCHEMES}"),
        ("mqtt://h/t#x", f"no address; got mqtt://h/t#x; {FORM}, {SCHEMES}"),
        ("mqtt://h/t%00", f"no address; got mqtt://h/t%00; {FORM}, {SCHEMES}"),
        ("mqtt://h", f"an address without a place; got mqtt://h; {FORM}"),
        ("mqtt://h:0x1/t", "no address: Port could not be cast to integer value as '0x1'"),
        ("mqtt://h/t?qos=1&qos=1", "mqtt://h/t?qos=1&qos=1: an option twice; got qos;"),
        ("mqtt://h/t?quality=1", "mqtt://h/t?quality=1: no such option; got quality; there are"),
        (
            "mqtt://me:secret@h/t",
            "mqtt://h: a password does not stand in an address, because addresses are shown; "
            "name the environment variable that has it: ?password_env=NAME",
        ),
    ],
)
def test_no_address(text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        address_of(text)
    assert str(caught.value).startswith(problem)
    assert "secret" not in str(caught.value)


def test_options_out_of_their_range() -> None:
    address = address_of("mqtt://h/t?qos=2&once=x&password_env=NO_SUCH_VARIABLE")[1]
    with pytest.raises(InputError, match="got qos=2; want a whole number from 0 to 1"):
        address.whole("qos", 1, 0, 1)
    with pytest.raises(InputError, match="got once=x; want a whole number"):
        address.whole("once", 0, 0, 10)
    with pytest.raises(InputError, match="want the name of an environment variable that is set"):
        _ = address.password
    with pytest.raises(InputError, match="got mode=router; want one of client, peer"):
        address_of("zenoh://h/t?mode=router")[1].one_of("mode", "client", "peer")


def test_links_tell_all_that_is_wrong_at_once() -> None:
    with pytest.raises(InputError) as caught:
        Links.of(trial_plan(), {"sped": "mqtt://h/t"}, {"fast": "nowhere"})
    told = str(caught.value).splitlines()
    assert told[0] == "there is no source 'sped'; there are speed"
    assert told[1] == "source 'speed' has no address; add --source speed=ADDRESS"
    assert told[2].startswith("fast: no address; got nowhere;")


def test_signals_are_held_against_a_catalogue(tmp_path: Path) -> None:
    (tmp_path / "VehicleSignalSpecification.vspec").write_text(TREE)
    (tmp_path / "More.vspec").write_text(MORE)
    wanted = schema(v="float [km/h]", slow="float [m/s]", n="int", big="bigint")

    def names(columns: str) -> dict[str, str]:
        text = f"mqtt://h/t?columns={columns}&vss={tmp_path}"
        return dict(message_names(address_of(text)[1], wanted))

    found = names("v:Vehicle.Speed,big:Vehicle.Count")
    assert found == {"v": "Vehicle.Speed", "big": "Vehicle.Count"}
    with pytest.raises(InputError) as caught:
        names("slow:Vehicle.Speed,n:Vehicle.Count,v:Vehicle.Sped")
    unit, kind, unknown = str(caught.value).splitlines()
    assert "Vehicle.Speed has another unit; got [km/h]" in unit
    assert "[m/s] in the schema; declare the catalogue's unit, and convert in a map" in unit
    assert "Vehicle.Count does not fit the column's type; got uint32" in kind
    assert "knows no signal 'Vehicle.Sped'; got Vehicle.Speed" in unknown
    with pytest.raises(InputError) as caught:
        names("x:Vehicle.Speed,v")
    assert "there is no column 'x'; there are v, slow, n, big" in str(caught.value)
    assert "no column and name; got v; write COLUMN:NAME" in str(caught.value)
