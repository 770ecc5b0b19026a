"""SimSo's EDF as an oracle: random periodic task sets and the finish time of every job.

SimSo (https://projects.laas.fr/simso) pins SimPy 2.3.1 and so gets an environment of its own in
``build/simso``. Run ``python benchmarks/oracle_simso.py`` to make it and to write
``tests/fixtures/simso_edf.json`` anew; the tests only read that file.

The sets: 3 to 5 tasks with computation times of 1 to 10 ms, periods of 5 to 40 ms, deadlines up to
the period, phases of 0 to 5 ms, some of them overloaded (``abort_on_miss`` is off: late jobs go
on). Within a set no two jobs have the same absolute deadline, so that the order does not depend on
how ties are broken.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENVIRONMENT = ROOT / "build" / "simso"
FIXTURE = ROOT / "tests" / "fixtures" / "simso_edf.json"
SETS = 20
DURATION = 120
"""of a simulation, in ms"""

SIMULATE = """
import json, sys
from simso.core import Model
from simso.configuration import Configuration

request = json.load(sys.stdin)
answers = []
for tasks in request["sets"]:
    configuration = Configuration()
    configuration.cycles_per_ms = 1_000_000
    configuration.duration = request["duration"] * configuration.cycles_per_ms
    for number, task in enumerate(tasks, start=1):
        configuration.add_task(
            name=f"T{number}", identifier=number, period=task["period"],
            activation_date=task["phase"], wcet=task["cost"], deadline=task["deadline"],
            abort_on_miss=False,
        )
    configuration.add_processor(name="CPU 1", identifier=1)
    configuration.scheduler_info.clas = "simso.schedulers.EDF_mono"
    configuration.check_all()
    model = Model(configuration)
    model.run_model()
    answers.append([
        [[round(job.activation_date), round(job.end_date / model.cycles_per_ms, 6)]
         for job in task.jobs if job.end_date]
        for task in model.task_list
    ])
json.dump(answers, sys.stdout)
"""


def random_set(draw: random.Random) -> list[dict[str, int]]:
    """Distinct absolute deadlines of all jobs."""
    while True:
        tasks = []
        for _ in range(draw.randint(3, 5)):
            period = draw.randint(5, 40)
            cost = draw.randint(1, min(10, period // 2))
            deadline = draw.randint(max(cost, period // 2), period)
            tasks.append(
                {"period": period, "phase": draw.randint(0, 5), "cost": cost, "deadline": deadline}
            )
        deadlines = [
            release + task["deadline"]
            for task in tasks
            for release in range(task["phase"], DURATION, task["period"])
        ]
        if len(set(deadlines)) == len(deadlines):
            return tasks


def environment() -> Path:
    """The Python that has SimSo."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        venv.create(ENVIRONMENT, with_pip=True)
        install = [python, "-m", "pip", "install", "--quiet", "simso==0.8.5"]
        subprocess.run(list(map(str, install)), check=True)
    return python


def main() -> None:
    draw = random.Random(2026)
    sets = [random_set(draw) for _ in range(SETS)]
    answer = subprocess.run(
        [str(environment()), "-W", "ignore", "-c", SIMULATE],
        input=json.dumps({"sets": sets, "duration": DURATION}),
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode:
        sys.exit(answer.stderr)
    cases = [
        {"tasks": tasks, "finished": finished}
        for tasks, finished in zip(sets, json.loads(answer.stdout), strict=True)
    ]
    FIXTURE.parent.mkdir(exist_ok=True)
    text = json.dumps(
        {"oracle": "SimSo 0.8.5, EDF_mono; ms", "cases": cases}, separators=(",", ":")
    )
    FIXTURE.write_text(text.replace('{"tasks"', '\n{"tasks"') + "\n", encoding="utf-8")
    jobs = sum(len(jobs) for case in cases for jobs in case["finished"])
    print(f"{FIXTURE.relative_to(ROOT)}: {SETS} sets, {jobs} finished jobs")


if __name__ == "__main__":
    main()
