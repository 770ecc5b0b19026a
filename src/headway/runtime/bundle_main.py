"""The ``__main__`` of a node's executable: checks what is installed, then runs the node."""

from __future__ import annotations

MAIN = '''"""Starts a node of Headway; written by headway build."""

import importlib.util
import json
import sys
from pathlib import Path
from zipimport import zipimporter


def start():
    executable = Path(sys.argv[0]).resolve()
    archive = zipimporter(str(executable))
    manifest = json.loads(archive.get_data("manifest.json"))
    problems = []
    if sys.version_info < (3, 11):
        problems.append("needs Python 3.11 or later, this is " + sys.version.split()[0])
    for package, wanted in manifest["requires"].items():
        if importlib.util.find_spec(package) is None:
            problems.append("needs the package %r: pip install %r" % (package, wanted))
    for package, entry in manifest["optional"].items():
        used = any(
            argument in option.split() or argument.split("=")[0] in option.split()
            for option in entry["for"].split(" and ")
            for argument in sys.argv[1:]
        )
        if used and importlib.util.find_spec(package) is None:
            problems.append(
                "needs the package %r for %s: pip install %r"
                % (package, entry["for"], entry["requirement"])
            )
    if problems:
        for problem in problems:
            sys.stderr.write("%s: %s\\n" % (executable.name, problem))
        return 2
    from headway.runtime.distributed.command import main

    return main(archive.get_data("slice.json").decode(), executable)


if __name__ == "__main__":
    sys.exit(start())
'''
