from pathlib import Path


def descendants(pid: int) -> dict[int, str]:
    """Return the names of a process's descendants by PID."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text()
            except OSError:
                continue
            name, rest = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :]
            parents[int(entry.name)] = (name, int(rest.split()[1]))
    found: dict[int, str] = {}
    for one in parents:
        ancestor = one
        while ancestor in parents and ancestor != pid:
            ancestor = parents[ancestor][1]
        if ancestor == pid and one != pid:
            found[one] = parents[one][0]
    return found
