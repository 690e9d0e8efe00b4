"""Times as people read them."""


def duration(seconds: float) -> str:
    """Return a time as text: ``40 s``, ``12 min``, ``3 h 5 min``."""
    if seconds < 59.5:
        return f"{round(seconds)} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
