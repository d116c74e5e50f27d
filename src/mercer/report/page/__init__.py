"""One self-contained HTML page from records: no network, light and dark, and it works without JavaScript."""

from mercer.report.page.document import page_html

__all__ = ["page_html"]
