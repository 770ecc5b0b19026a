"""Files of task graphs and networks: YAML and JSON, TGFF, STG, WfCommons."""

from __future__ import annotations

from headway.files.graphs.load import (
    LoadedGraph,
    LoadedNetwork,
    load_graph,
    load_network,
    parse_graph,
    parse_network,
)
from headway.files.graphs.write import graph_to_stg, graph_to_tgff, graph_to_yaml, network_to_yaml

__all__ = [
    "LoadedGraph",
    "LoadedNetwork",
    "graph_to_stg",
    "graph_to_tgff",
    "graph_to_yaml",
    "load_graph",
    "load_network",
    "network_to_yaml",
    "parse_graph",
    "parse_network",
]
