"""The picture of the page of a comparison: docs/pictures/report.png.

    python docs/pictures/report.py heart.csv AHD

The table is any CSV file with its target; the picture in the README is of the heart disease table of ISLR. It needs
Chromium on the path.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

PICTURE = Path(__file__).with_name("report.png")
SIZE = "1280,1080"


def draw(table: Path, target: str) -> None:
    """Compare models on the table, and take a picture of the first screen of the page."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("There is no Chromium on the path.")
    with TemporaryDirectory() as folder:
        shutil.copy(table, folder)
        compare = [Path(sys.executable).with_name("mercer"), "compare", table.name, "--target", target]
        subprocess.run([*compare, "--report", "report.html", "--save", "best.mercer", "-q"], cwd=folder, check=True)
        page = (Path(folder) / "report.html").as_uri()
        flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={folder}/profile",
        ]
        subprocess.run([browser, *flags, f"--window-size={SIZE}", f"--screenshot={PICTURE}", page], check=True)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), sys.argv[2])
