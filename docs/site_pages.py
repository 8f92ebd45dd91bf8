"""Pages of the site that are made from files: benchmarks, JSON schemas, and the pages beside the code.

Each function gives the text of a page; `write_all` writes them where Sphinx finds them. Needs no Sphinx.
"""

import json
import re
from importlib.resources import files
from pathlib import Path

from benchmarks import results
from benchmarks.__main__ import NAMES

ROOT = Path(__file__).parents[1]
# Files outside docs that other pages link to, and the pages that stand for them.
OUTSIDE = {
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "code_of_conduct.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "VISION.md": "vision.md",
    "benchmarks/results.md": "benchmark_results.md",
}

SCHEMAS = """# JSON, field by field

These tables are made from the JSON Schemas (draft 2020-12) that are part of the package, `densdiff/schemas`. How to get
the JSON, and what may change in it, is in [Results for other programs](../guide_json.md).
"""


def beside_the_code(name):
    """A page of the repository's root with its links leading to pages of the site."""
    text = (ROOT / name).read_text(encoding="utf-8")
    text = re.sub(r"\]\(docs/", "](../", text)
    for path, page in OUTSIDE.items():
        text = text.replace(f"]({path}", f"]({page}")
    return text


def benchmark_results():
    """All that the benchmarks found, from their JSON files."""
    folder = ROOT / "benchmarks"
    parts = [results.HEAD, results.traced()]
    for name in NAMES:
        path = folder / "results" / f"{name}.json"
        if path.exists():
            figures = sorted((folder / "figures").glob(f"{name}_*.png"))
            parts.append(results.section(json.loads(path.read_text(encoding="utf-8")), figures))
    text = "\n".join(parts)
    return text.replace("](figures/", "](../../benchmarks/figures/")


def schemas():
    """Every field of the JSON that other programs read, from the schemas of the package."""
    parts = [SCHEMAS]
    for path in sorted((files("densdiff") / "schemas").iterdir(), key=lambda path: path.name):
        name = path.name.removesuffix(".json")
        schema = json.loads(path.read_text(encoding="utf-8"))
        parts.append(f"## {name}.json\n\n{schema['title']}. {schema.get('description', '')}\n")
        parts += _tables(schema)
    return "\n".join(parts)


def _tables(schema):
    """A table of the fields of an object, and of each object inside it."""
    if "properties" in schema:
        yield _table(schema["properties"], schema.get("required", ()))
    for name, inner in schema.get("$defs", {}).items():
        if "properties" in inner:
            about = f": {inner['description']}" if "description" in inner else ""
            yield f"**`{name}`**{about}\n\n" + _table(inner["properties"], inner.get("required", ()))


def _table(properties, required):
    rows = [
        (f"`{name}`", _type(of), "" if name in required else "may be absent", of.get("description", ""))
        for name, of in properties.items()
    ]
    heads = ("field", "type", "", "meaning") if any(row[2] for row in rows) else ("field", "type", "meaning")
    if len(heads) == 3:
        rows = [(name, kind, about) for name, kind, _, about in rows]
    return results.table(heads, rows)


def _type(of):
    """What a value may be, in words."""
    if "const" in of:
        return f"`{json.dumps(of['const'])}`"
    if "enum" in of:
        return ", ".join(f"`{json.dumps(value)}`" for value in of["enum"])
    if "$ref" in of:
        return f"`{of['$ref'].rpartition('/')[2]}`"
    if "anyOf" in of or "oneOf" in of:
        return " or ".join(_type(one) for one in of.get("anyOf", of.get("oneOf")))
    kinds = of.get("type", "any")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if "array" in kinds and isinstance(of.get("items"), dict):
        kinds = [f"list of {_type(of['items'])}" if kind == "array" else kind for kind in kinds]
    return " or ".join(kinds)


def write_all(folder):
    """Write every page into a folder; a page that is as it was is left alone, so that Sphinx need not read it again."""
    folder.mkdir(exist_ok=True)
    pages = {page: beside_the_code(name) for name, page in OUTSIDE.items() if (ROOT / name).parent == ROOT}
    pages |= {"benchmark_results.md": benchmark_results(), "schemas.md": schemas()}
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
