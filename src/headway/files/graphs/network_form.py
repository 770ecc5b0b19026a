"""The form of network files (YAML or JSON), and the network it means."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from headway.files.forms import Form
from headway.files.graphs.fields import Amount, Label
from headway.files.graphs.numbers import number
from headway.model.static_network import Link, Network, Processor, Switch, Switching


class LinkForm(Form):
    """A link between two, or a bus between more: one message at a time, in any direction."""

    ends: list[Label] = Field(description="processors or switches")
    speed: Amount = Field(default=1.0, description="volume that passes in a unit of time")


class RouteForm(Form):
    """The routes between two processors, given outright."""

    between: Annotated[list[Label], Field(min_length=2, max_length=2)] = Field(
        description="two processors"
    )
    links: list[list[Label]] = Field(description="each route as a list of links, in order")


class NetworkForm(Form):
    """Processors, switches and the links between them."""

    network: Label = Field(description="the network's name")
    processors: dict[Label, Amount] = Field(
        description="name: execution rate; 1 is the machine the work was measured on"
    )
    switches: dict[Label, Amount] = Field(
        default={}, description="name: the time it holds a message between two links"
    )
    links: dict[Label, LinkForm] = Field(default={}, description="the links, by name")
    routes: list[RouteForm] = Field(
        default=[], description="routes given outright; other pairs get all simple ones"
    )
    most_routes: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=16, description="how many simple routes of a pair to consider, shortest first"
    )
    processors_forward: bool = Field(
        default=True, description="whether a route may pass through a processor"
    )
    switching: Literal["cut-through", "store-and-forward"] = Field(
        default="cut-through", description="how a message passes from link to link"
    )

    def to_model(self) -> Network:
        return Network(
            name=self.network,
            processors=tuple(
                Processor(name=name, rate=rate) for name, rate in self.processors.items()
            ),
            switches=tuple(Switch(name=name, delay=delay) for name, delay in self.switches.items()),
            links=tuple(
                Link(name=name, ends=tuple(form.ends), speed=form.speed)
                for name, form in self.links.items()
            ),
            given_routes={
                (form.between[0], form.between[1]): tuple(tuple(route) for route in form.links)
                for form in self.routes
            },
            most_routes=self.most_routes,
            processors_forward=self.processors_forward,
            switching=Switching(self.switching),
        )


def network_plain(network: Network) -> dict[str, Any]:
    """What a person would write for that network."""
    result: dict[str, Any] = {
        "network": network.name,
        "processors": {one.name: number(one.rate) for one in network.processors},
        "switches": {switch.name: number(switch.delay) for switch in network.switches},
        "links": {
            link.name: {"ends": list(link.ends), "speed": number(link.speed)}
            for link in network.links
        },
        "routes": [
            {"between": list(pair), "links": [list(route) for route in routes]}
            for pair, routes in network.given_routes.items()
        ],
    }
    result = {key: value for key, value in result.items() if value}
    if network.most_routes != 16:
        result["most_routes"] = network.most_routes
    if not network.processors_forward:
        result["processors_forward"] = False
    if network.switching is not Switching.CUT_THROUGH:
        result["switching"] = network.switching.value
    return result
