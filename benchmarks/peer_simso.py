"""A periodic task set under SimSo's ``EDF_mono``: ``python peer_simso.py MS REPEATS TASK ...``, a
task being ``name:period:wcet:phase`` in ms.

Prints the CPU seconds of the fastest of some runs and the end of every job (ms), by task.
"""

from __future__ import annotations

import json
import sys
from time import process_time

from simso.configuration import Configuration
from simso.core import Model


def run(length: int, tasks: list[list[str]]) -> tuple[float, dict[str, list[float]]]:
    configuration = Configuration()
    configuration.duration = length * configuration.cycles_per_ms
    for number, (name, period, wcet, phase) in enumerate(tasks, start=1):
        configuration.add_task(
            name=name,
            identifier=number,
            period=int(period),
            activation_date=int(phase),
            wcet=int(wcet),
            deadline=int(period),
            abort_on_miss=False,
        )
    configuration.add_processor(name="ecu", identifier=1)
    configuration.scheduler_info.clas = "simso.schedulers.EDF_mono"
    configuration.check_all()
    model = Model(configuration)
    start = process_time()
    model.run_model()
    seconds = process_time() - start
    ends = {
        task.name: [
            job.end_date / model.cycles_per_ms for job in task.jobs if job.end_date is not None
        ]
        for task in model.task_list
    }
    return seconds, ends


def main() -> None:
    length, repeats = map(int, sys.argv[1:3])
    tasks = [argument.split(":") for argument in sys.argv[3:]]
    runs = [run(length, tasks) for _ in range(repeats)]
    seconds = min(seconds for seconds, _ in runs)
    print(json.dumps({"seconds": seconds, "ends": runs[0][1]}))


if __name__ == "__main__":
    main()
