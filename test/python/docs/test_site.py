"""The pages as a site: every page is in its menu, and every link leads to a file."""

import importlib.machinery
import importlib.util
import re

from programs import ROOT

loader = importlib.machinery.SourceFileLoader("site_of_docs", str(ROOT / "dev/site"))
site = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(site)


def test_every_page_is_in_the_menu():
    listed = [page for pages in site.sections().values() for page in pages]
    docs = ROOT / "docs"
    pages = [*docs.glob("*.md"), *docs.glob("benchmarks/*.md")]
    wanted = {str(page.relative_to(docs)) for page in pages if page.name != "README.md"}
    assert set(listed) == wanted and len(listed) == len(wanted)


def test_every_link_leads_to_a_file(tmp_path):
    site.Source(tmp_path / "source").write()
    links = 0
    for page in (tmp_path / "source").rglob("*.md"):
        text = re.sub(r"```.*?```|`[^`\n]+`", "", page.read_text(), flags=re.S)
        for _, link in site.LINK.findall(text):
            path = link.partition("#")[0]
            if path and not re.match(r"[a-z]+:", path):
                links += 1
                assert (page.parent / path).is_file(), f"{page.name}: {link}"
    assert links > 200


def test_versions_are_listed_newest_first(tmp_path):
    for version in ("0.9.0", "0.10.0", "0.2.0"):
        (tmp_path / version).mkdir()
        site.versions(tmp_path, version)
    assert re.findall(r'"version": "([^"]+)"', (tmp_path / "versions.json").read_text()) == ["0.10.0", "0.9.0", "0.2.0"]
    assert "url=0.10.0/index.html" in (tmp_path / "index.html").read_text()
