"""``python -m tests.fuzz.engine atheris|hypothesis TARGET SECONDS``: fuzz one target."""

import sys
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "target" / "fuzz"
_MAX_INPUT_BYTES = 4096
_MAX_SECONDS_AN_INPUT = 20
_MAX_MEMORY_MB = 3000


def names() -> list[str]:
    from tests.fuzz.targets import TARGETS

    return list(TARGETS)


def _count_file(name: str) -> Path:
    return FOLDER / name / "inputs"


def inputs(name: str) -> int:
    """Return the number of inputs in a target's last run."""
    path = _count_file(name)
    return int(path.read_text()) if path.is_file() else 0


def _atheris(name: str, seconds: int) -> None:
    import atheris

    with atheris.instrument_imports(  # pyright: ignore[reportAttributeAccessIssue]: it has no types
        include=["traces", "configs", "common"]
    ):
        from tests.fuzz import targets
    corpus = FOLDER / name / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for index, seed in enumerate(targets.TARGETS[name].seeds):
        (corpus / f"seed-{index}").write_bytes(seed)
    count = 0

    def one(data: bytes) -> None:
        nonlocal count
        count += 1
        # libFuzzer ends the process, so write the count regularly.
        if count % 256 == 0:
            _count_file(name).write_text(str(count))
        targets.run(name, data)

    options = [
        f"-max_total_time={seconds}",
        f"-max_len={max(_MAX_INPUT_BYTES, *(2 * len(seed) for seed in targets.TARGETS[name].seeds))}",
        f"-timeout={_MAX_SECONDS_AN_INPUT}",
        f"-rss_limit_mb={_MAX_MEMORY_MB}",
        f"-artifact_prefix={FOLDER / name}/",
        "-print_final_stats=1",
        "-verbosity=1",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], one)
    atheris.Fuzz()


def _hypothesis(name: str, seconds: int) -> None:
    from hypothesis import HealthCheck, given, seed, settings

    from tests.fuzz import targets
    from tests.fuzz.mutation import near

    count, end = 0, time.monotonic() + seconds

    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

    @settings(max_examples=2000, deadline=None, database=None, suppress_health_check=slow)
    @given(near(targets.TARGETS[name].seeds))
    def holds(data: bytes) -> None:
        nonlocal count
        count += 1
        (FOLDER / name / "last").write_bytes(data)
        targets.run(name, data)

    rounds = 0
    while time.monotonic() < end:
        seed(rounds)(holds)()
        rounds += 1
        _count_file(name).write_text(str(count))


def main() -> None:
    """Fuzz; a finding ends the process with a traceback."""
    kind, name, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    (FOLDER / name).mkdir(parents=True, exist_ok=True)
    _count_file(name).unlink(missing_ok=True)
    if kind == "atheris":
        _atheris(name, seconds)
    else:
        _hypothesis(name, seconds)


if __name__ == "__main__":
    main()
