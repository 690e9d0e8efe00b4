"""Check cards for notebooks."""

import re
import xml.etree.ElementTree as ElementTree

from leogym.results.notebook_card import MOST_BYTES


def checked(text: str) -> ElementTree.Element:
    """Return a card's tree; it is well-formed, small, and loads nothing."""
    assert len(text.encode()) < MOST_BYTES
    # In HTML, inline SVG needs no declaration of its names.
    tree = ElementTree.fromstring(f'<card xmlns:xlink="http://www.w3.org/1999/xlink">{text}</card>')
    for element in tree.iter():
        assert element.tag not in ("script", "link", "iframe")
        for name, value in element.attrib.items():
            if name.rpartition("}")[2] in ("href", "src"):
                assert value.startswith(("#", "data:image/png;base64,")), value
    assert not re.search(r"@import|url\((?!#)", text)
    ids = [element.attrib["id"] for element in tree.iter() if "id" in element.attrib]
    assert len(ids) == len(set(ids))
    return tree


def shown(tree: ElementTree.Element) -> str:
    """Return a card's text, without its style."""
    return " ".join(
        part
        for element in tree.iter()
        if element.tag != "style"
        for part in (element.text, element.tail)
        if part
    )
