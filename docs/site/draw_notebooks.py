"""The charts of the notebooks, for docs/notebooks.md: ``python docs/site/draw_notebooks.py``.

Runs the code of each notebook named below as its reader would, and keeps what is called ``chart``
at its end.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "examples" / "notebooks"
DRAWN = ("compare_policies", "write_an_operator")


def main() -> None:
    os.chdir(NOTEBOOKS)
    sys.path.insert(0, str(NOTEBOOKS))
    for name in DRAWN:
        cells = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
        names: dict[str, Any] = {}
        for cell in cells:
            if cell["cell_type"] == "code":
                exec("".join(cell["source"]), names)
        names["chart"].save(ROOT / "docs" / "img" / f"notebook-{name}.png", scale_factor=1.5)


if __name__ == "__main__":
    main()
