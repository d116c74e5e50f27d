"""A self-contained HTML page from records, without network access and readable without JavaScript."""

from mercer.report.page.document import page_html

__all__ = ["page_html"]
