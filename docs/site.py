"""What mkdocs does beyond its plugins: pages outside docs/, one page per module, formulas, and a last check.

Pages link to tables, benchmarks, examples and sources of the repository, so that they can be read there too.
Whatever is linked becomes a page of the site: Markdown as it is, text such as Python as a page that shows it.
"""

import base64
import html
import json
import posixpath
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)\s]*)?\))")
FORMULA = re.compile(r"(?::math:|\$)<code>(.*?)</code>\$?", re.DOTALL)
ROLE = re.compile(r":(?:class|func|meth|mod):<code>[~.]*(.*?)</code>")
MODULES = (
    *("losses", "methods", "train", "labels", "dynamics", "data", "noise", "models", "features", "auto"),
    *("report", "review", "recipes", "kernels", "papers", "testing"),
)
INTEGRATIONS = ("lightning", "huggingface", "skorch", "cleanlab", "datasets", "mlflow", "wandb")
PICTURES = (".png", ".svg", ".jpg")

places: dict[str, str] = {}
"""Where a file of the repository is on the site: path from the root, path in the site."""


def on_config(config: Any) -> Any:
    """Pages that nobody has given a place are put at the end of Use."""
    named, use = str(config.nav), next(part["Use"] for part in config.nav if "Use" in part)
    use += [page.name for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in named]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add modules, and whatever pages link to, and what those link to."""
    for name, text in api_pages().items():
        files.append(File.generated(config, name, content=text))
    places.clear()
    places.update({f"docs/{file.src_uri}": file.src_uri for file in files})
    places.update({"README.md": "index.md", "docs/start.ipynb": "notebook.md"})
    files.append(File.generated(config, "notebook.md", content=notebook(files, config)))
    waiting = [path for path in places if path.endswith(".md")]
    while waiting:
        for path in linked(waiting.pop()):
            if path not in places:
                files.append(added(path, config))
                waiting.append(path)
    return files


def linked(path: str) -> list[str]:
    """Files of the repository that a page links to, as paths from its root."""
    page = ROOT / path
    if page.is_dir():
        return sorted(f"{path}/{below.name}" for below in page.glob("*.md"))
    if page.suffix != ".md" or not page.is_file():
        return []
    targets = [resolved(path, found[1]) for found in LINK.findall(page.read_text(encoding="utf-8"))]
    return [target for target in targets if not target.startswith("..") and (ROOT / target).exists()]


def resolved(path: str, target: str) -> str:
    """The path from the root that a link of the page at ``path`` means."""
    found = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return f"{found}/README.md" if (ROOT / found / "README.md").is_file() else found


def added(path: str, config: Any) -> File:
    source = ROOT / path
    if source.is_dir():
        places[path], content = f"{path}/index.md", listing(path)
    elif path.endswith((".md", *PICTURES)):
        places[path] = path
        return File.generated(config, path, abs_src_path=str(source))
    else:
        places[path], content = f"{path}.md", shown(source)
    return File.generated(config, places[path], content=content)


def listing(folder: str) -> str:
    pages = sorted(page.name for page in (ROOT / folder).glob("*.md"))
    return "\n".join([f"# {folder.capitalize()}\n", *(f"- [{page}]({page})" for page in pages)])


def shown(source: Path) -> str:
    kind = {"py": "python", "yml": "yaml"}.get(source.suffix[1:], source.suffix[1:])
    text = source.read_text(encoding="utf-8")
    return f"---\nsearch:\n  exclude: true\n---\n\n# {source.name}\n\n````{kind}\n{text}````\n"


def notebook(files: Any, config: Any) -> str:
    """The notebook as a page: text, code, and what the code printed and drew when it was run."""
    parts = []
    for number, cell in enumerate(
        json.loads((ROOT / "docs/start.ipynb").read_text(encoding="utf-8"))["cells"]
    ):
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", []):
            found = output.get("data", {})
            if "image/png" in found:
                name, content = f"images/notebook-{number}.png", base64.b64decode(found["image/png"])
                files.append(File.generated(config, name, content=content))
                parts.append(f"![What the cell above draws]({name})")
            else:
                printed = "".join(output.get("text") or found["text/plain"]).rstrip()
                parts.append(f"```text\n{printed}\n```")
    return "\n\n".join(parts)


def api_pages() -> dict[str, str]:
    pages = {f"api/{name}.md": f"# noiseproof.{name}\n\n::: noiseproof.{name}\n" for name in MODULES}
    classifier = "::: noiseproof.estimator.NoiseproofClassifier\n"
    pages["api/classifier.md"] = f"# NoiseproofClassifier\n\n{classifier}"
    modules = (f"## {name}\n\n::: noiseproof.integrations.{name}\n" for name in INTEGRATIONS)
    pages["api/integrations.md"] = "# noiseproof.integrations\n\n" + "\n".join(modules)
    return pages


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links of the repository, as links of the site."""
    here = page.file.src_uri
    path = next((path for path, place in places.items() if place == here and path != "README.md"), here)

    def rewritten(link: re.Match[str]) -> str:
        target = places.get(resolved(path, link[2]))
        if target is None:
            return link[0]
        return f"{link[1]}{posixpath.relpath(target, posixpath.dirname(here) or '.')}{link[3]}"

    return LINK.sub(rewritten, markdown)


def on_page_content(content: str, page: Any, config: Any, files: Any) -> str:
    """Formulas as MathML, which browsers draw without a script, and names without their roles."""
    content = FORMULA.sub(lambda found: convert(html.unescape(found[1])), content)
    return ROLE.sub(lambda found: f"<code>{found[1].rpartition('.')[2]}</code>", content)


def on_post_build(config: Any) -> None:
    """Nothing of the site may come from elsewhere."""
    found = remote_assets(Path(config.site_dir))
    if found:
        raise PluginError("the site loads from elsewhere: " + ", ".join(found))


class Assets(HTMLParser):
    """What a page loads: everything with ``src``, and ``href`` of links in its head."""

    def __init__(self) -> None:
        super().__init__()
        self.remote: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        loaded = [given.get("src"), given.get("srcset"), given.get("data") if tag == "object" else None]
        if tag == "link" and given.get("rel") not in ("canonical", "next", "prev"):
            loaded.append(given.get("href"))
        self.remote += [url for url in loaded if url and re.match(r"(https?:)?//", url)]


def remote_assets(site: Path) -> list[str]:
    """``page: address`` of all that pages and style sheets would load from another host."""
    found = []
    for path in sorted(site.rglob("*")):
        if path.suffix == ".html":
            assets = Assets()
            assets.feed(path.read_text(encoding="utf-8"))
            found += [f"{path.relative_to(site)}: {url}" for url in assets.remote]
        elif path.suffix == ".css":
            text = path.read_text(encoding="utf-8")
            urls = re.findall(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')\s]+)", text)
            found += [f"{path.relative_to(site)}: {url}" for url in urls]
    return found
