"""Fails if a page of our crates below a folder of documentation leads to a page of ours that is not there.

Words of other crates that are shown on our pages, such as those of their traits, have links to pages that are not built here.
"""

import html
import pathlib
import re
import sys
import urllib.parse

root = pathlib.Path(sys.argv[1]).resolve()
dead = set()
pages = 0
for page in root.glob("quipu*/**/*.html"):
    pages += 1
    for link in re.findall(r'href="([^"]*)"', page.read_text()):
        path = urllib.parse.unquote(html.unescape(link)).partition("#")[0]
        is_ours = "quipu" in path or path.endswith(".md")
        if is_ours and not re.match(r"[a-z]+:/", path) and not (page.parent / path).exists():
            dead.add(f"{page.relative_to(root)} links to {path}")
print(f"{pages} pages, {len(dead)} dead links")
sys.exit("\n".join(sorted(dead)) if dead or not pages else 0)
