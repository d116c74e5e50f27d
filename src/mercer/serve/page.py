"""The page at /, one file for all models, which requests the columns from the server and builds its form."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files

PAGE_HTML = files("mercer.serve").joinpath("page.html").read_bytes()


def _hashes(tag: str) -> str:
    """Return the hashes of the contents of these tags, which alone a browser may run or apply."""
    contents = re.findall(rf"<{tag}>(.*?)</{tag}>".encode(), PAGE_HTML, re.DOTALL)
    return " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(each).digest()).decode()}'" for each in contents)


PAGE_HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; script-src {_hashes('script')}; style-src {_hashes('style')}; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}
