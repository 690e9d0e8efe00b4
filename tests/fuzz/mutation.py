"""Mutations of valid inputs: hypothesis cuts, repeats and replaces parts of the seeds."""

from collections.abc import Sequence

from hypothesis import strategies as st

_TOKENS = (
    *b"0 -1 1e999 nan inf -0.0 1_0 18446744073709551616 0.0000000001 1e-400 null true NULL {} [] \\n".split(),
    *(b",", b"\n", b"\r\n", b"\r", b"\0", b"\xff", b"\xc2\x85", b"\xe2\x80\xa8"),
    *(b'"', b"#", b"{", b"[", b"$", b" "),
    *("٣".encode(), b"[" * 200),
)


@st.composite
def near(draw: st.DrawFn, seeds: Sequence[bytes]) -> bytes:
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=200))
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data)))
        end = min(len(data), at + draw(st.sampled_from([0, 0, 1, 2, 8, 60])))
        new = draw(st.one_of(st.sampled_from(_TOKENS), st.binary(max_size=4), st.just(data[at:end] * 2)))
        data = data[:at] + new + data[end:]
    return data
