"""Task graphs and networks in YAML: read, and refused with the place of the mistake."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from headway.errors import FileError, GraphError, InputError
from headway.files import graph_json_schema, network_json_schema
from headway.files.load_graphs import load_graph, load_network, parse_graph, parse_network
from headway.model.static_network import NetworkLink, SpeedError, Switching
from headway.model.taskgraph import CycleError, Edge, Memory, UnknownTaskError

EXAMPLE = Path(__file__).parents[3] / "examples" / "static_distribution"
GRAPH = """\
graph: g
period: 100
ccr: 0.5
tasks:
  a: 3
  b: {work: 4, on: [p1], state: 20, window: 3}
  c: {times: {p1: 3, p2: 4}, deadline: 9}
messages:
  a: {b: 3, c: {ccr: 2}}
  b: c
"""
NETWORK = """\
network: n
processors: {p1: 1, p2: 0.67}
switches: {s: 0.5}
links:
  l: {ends: [p1, s], speed: 2}
  bus: {ends: [p1, p2, s]}
routes:
  - {between: [p1, p2], links: [[bus]]}
switching: store-and-forward
"""


def test_a_graph_is_read() -> None:
    loaded = parse_graph(GRAPH)
    graph = loaded.graph
    assert graph.period == 100
    assert [task.work for task in graph.tasks] == [3, 4, None]
    assert graph.by_name["b"].processors == ("p1",)
    assert graph.by_name["c"].times == {"p1": 3, "p2": 4}
    assert graph.edges == (
        Edge(sender="a", receiver="b", volume=3.0),
        Edge(sender="a", receiver="c", ccr=2.0),
        Edge(sender="b", receiver="c", ccr=0.5),
    )
    assert loaded.memories == {"b": Memory(state=20.0, window=3.0)}


def test_a_network_is_read() -> None:
    network = parse_network(NETWORK).network
    assert network.links[1] == NetworkLink(name="bus", ends=("p1", "p2", "s"), speed=1.0)
    assert network.switching is Switching.STORE_AND_FORWARD
    assert network.routes["p2", "p1"] == (("bus",),)


def test_json_is_read_too() -> None:
    text = '{"graph": "g",\n\t"tasks": {"a": 3, "b": 2}, "messages": {"a": {"b": 1}}}'
    assert parse_graph(text, "g.json").graph.exits == ("b",)


def test_the_examples_are_sound() -> None:
    assert len(load_graph(EXAMPLE / "graph.yaml").graph.edges) == 13
    assert load_graph(EXAMPLE / "periods.yaml").memories["fuse"].pinned
    assert load_network(EXAMPLE / "network.yaml").network.routes["p1", "p2"] == (
        ("l1", "l2"),
        ("l1", "l4", "l3"),
    )


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        (
            "  b: c\n",
            "  b: c\n  c: a\n",
            CycleError,
            "g.yaml:9:13: edges: tasks wait for each other in a circle; got a -> c -> a; "
            "take one of these edges away",
        ),
        (
            "a: {b",
            "a: {d",
            UnknownTaskError,
            "g.yaml:9:7: edges.a->d: unknown task; got 'd'; one of a, b, c",
        ),
        (
            "work: 4",
            "work: -4",
            GraphError,
            "g.yaml:6:13: tasks.b.work: not a number of 0 or more; got -4.0",
        ),
        (
            "state: 20",
            "state: pin",
            FileError,
            "g.yaml:6:33: tasks.b.state: not a state; got 'pin'; "
            "write the volume that moves with it, or 'pinned'",
        ),
        ("a: 3", "a: x", FileError, "g.yaml:5:6: tasks.a: a number is wanted; got 'x'"),
        (
            "work: 4",
            "wrok: 4",
            FileError,
            "g.yaml:6:7: tasks.b.wrok: unknown key 'wrok'; did you mean 'work'? "
            "known: work, times, on, imprecise, release, period, deadline, state, window",
        ),
        (
            "  a: 3",
            "  a.b: 3",
            FileError,
            "g.yaml:5:3: tasks.a.b: not a name; got 'a.b'; "
            "use no '.' and no '->': they build the paths in messages",
        ),
    ],
)
def test_mistakes_in_graphs(old: str, new: str, error: type[InputError], message: str) -> None:
    with pytest.raises(error) as caught:
        parse_graph(GRAPH.replace(old, new, 1), "g.yaml")
    assert str(caught.value).splitlines()[0] == message


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        (
            "0.67",
            "0",
            SpeedError,
            "n.yaml:2:25: processors.p2.rate: not a speed above 0; got 0.0",
        ),
        ("speed: 2", "speed: 0", SpeedError, "n.yaml:5:29: links.l.speed: not a speed above 0"),
        ("[p1, s]", "[p1, t]", GraphError, "n.yaml:5:7: links.l.ends: unknown end; got 't'"),
        ("[[bus]]", "[[l]]", GraphError, "n.yaml:7:1: routes.p1-p2: these links do not lead there"),
    ],
)
def test_mistakes_in_networks(old: str, new: str, error: type[InputError], message: str) -> None:
    with pytest.raises(error) as caught:
        parse_network(NETWORK.replace(old, new, 1), "n.yaml")
    assert str(caught.value).startswith(message)


def test_the_schemas_accept_the_examples_and_refuse_what_the_reader_refuses() -> None:
    graph = Draft202012Validator(graph_json_schema())
    network = Draft202012Validator(network_json_schema())
    for name in ("graph.yaml", "periods.yaml"):
        graph.validate(yaml.safe_load((EXAMPLE / name).read_text()))
    network.validate(yaml.safe_load((EXAMPLE / "network.yaml").read_text()))
    assert not graph.is_valid({"graph": "g", "tasks": {"a": {"wrok": 3}}})
    assert not network.is_valid({"network": "n", "processors": {"p": "fast"}})
