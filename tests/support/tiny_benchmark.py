"""A tiny version for tests: three suites of seconds."""

from pathlib import Path

VERSION = """
name: tiny
title: For tests
dev_seed: 1
paths: [sd-ny-isl]
judge:
  isl: 1
  bent_pipe: 1
  isl_cities: [ny, lax, chi]
  bent_pipe_cities: [ny, lax, chi]
  isl_constellations: [starlink-1]
  bent_pipe_constellations: [starlink-1]
  years: 20
  duration_s: 30
limits: {memory_mb: 1024, answer_s: 0.5, decision_cpu_ms: 20}
suites:
  - file: alone.yaml
    paths: true
    measures: {efficiency: normalized_goodput, delay: 1 / delay_inflation, robustness: power}
  - file: two.yaml
    measures: {fairness: goodput_ratio, coexistence: goodput_ratio}
  - file: transfer.yaml
    measures: {startup: "min(1, 0.1 / completion_s)"}
real:
  - {suite: alone, duration_s: 2}
  - {suite: two, duration_s: 2, grid: {rtt_ms: [40]}}
  - {suite: transfer, duration_s: 2}
behaviour: {schemes: [cubic], duration_s: 2}
"""
SUITES = {
    "alone": """
name: alone
title: Alone
repeats: 2
parameters: {duration_s: 3}
grid: {path: [sd-ny-isl]}
scenario:
  name: $path
  duration_s: $duration_s
  links: {path: {trace: $path, rate_mbps: 10, queue: {kind: droptail, bdp: 1.0}}}
  flows: [{scheme: $scheme, route: [path]}]
""",
    "two": """
name: two
title: Two
repeats: 1
parameters: {duration_s: 3}
grid: {rtt_ms: [20, 40]}
derived: {delay_ms: rtt_ms / 2}
scenario:
  name: ${rtt_ms} ms
  duration_s: $duration_s
  links: {path: {rate_mbps: 10, delay_ms: $delay_ms, queue: {kind: droptail, bdp: 1.0}}}
  flows: [{scheme: $scheme, route: [path]}, {scheme: $scheme, route: [path]}]
""",
    "transfer": """
name: transfer
title: Transfer
repeats: 1
parameters: {duration_s: 3}
scenario:
  name: 30 kB
  duration_s: $duration_s
  links: {path: {rate_mbps: 10, delay_ms: 10, queue: {kind: droptail, bdp: 1.0}}}
  flows: [{scheme: $scheme, transfer_bytes: 30000, route: [path]}]
""",
}


def write(folder: Path) -> Path:
    """Write the version's files to a folder; return it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "version.yaml").write_text(VERSION)
    for name, text in SUITES.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder
