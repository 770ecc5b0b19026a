"""Static schedules of task graphs on networks (HVLB_CC), one algorithm a file.

>>> result = schedule(graph, network, "hvlb-cc-b")
>>> result.makespan, result.best, result.failure
"""
