"""The page at /: one file, the same for every model, which asks the server for the columns and fills itself."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files

PAGE = files("mercer.serving").joinpath("page.html").read_bytes()


def _hashes(tag: str) -> str:
    """What a browser may run or apply: the contents of these tags and nothing else."""
    contents = re.findall(rf"<{tag}>(.*?)</{tag}>".encode(), PAGE, re.DOTALL)
    return " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(each).digest()).decode()}'" for each in contents)


PAGE_HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; script-src {_hashes('script')}; style-src {_hashes('style')}; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}
