"""HTML pages. They show what the API answers, row by row, so that a page cannot show what the API would mask.

`routes` has the list of all pages, `rendering` the templates and their filters, `sessions` the signed-in user,
`refusals` the page of an error; each other module has the routes of one subject. Styles are in `static/`, the
TypeScript in `ui/`, which `make ui` builds.
"""

from headrace.pages.routes import include, install

__all__ = ["include", "install"]
