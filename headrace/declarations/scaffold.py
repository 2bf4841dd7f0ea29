"""`dg scaffold defs headrace.Dataset <path>`: a declaration that loads, and its query."""

from __future__ import annotations

from dagster.components import Scaffolder, ScaffoldRequest

_DECLARATION = """\
type: headrace.Dataset
attributes:
  key: {domain}/{name}
  description: Content and audience.
  owner: team:{domain}
  sql: {name}.sql
"""
_QUERY = "SELECT 1 AS id\n"


class DatasetScaffolder(Scaffolder):
    """Writes defs.yaml (or another document in it) and a query."""

    def scaffold(self, request: ScaffoldRequest) -> None:
        """Write the files below the target path, whose last two parts become the key."""
        folder = request.target_path
        folder.mkdir(parents=True, exist_ok=True)
        domain = folder.parent.name if folder.parent.name != "assets" else folder.name
        text = _DECLARATION.format(domain=domain, name=folder.name)
        declaration = folder / "defs.yaml"
        if declaration.exists() and request.append:
            declaration.write_text(f"{declaration.read_text().rstrip()}\n---\n{text}")
        else:
            declaration.write_text(text)
        (folder / f"{folder.name}.sql").write_text(_QUERY)
