"""Map signal to rate with DVB-S2's modulations and codes (ETSI EN 302 307-1, table 13, normal frames)."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_TABLE = (
    # Es/N0 in dB for a packet error rate of 1e-7 over white noise, bits per symbol.
    (-2.35, 0.490243),  # QPSK 1/4
    (-1.24, 0.656448),  # QPSK 1/3
    (-0.30, 0.789412),  # QPSK 2/5
    (1.00, 0.988858),  # QPSK 1/2
    (2.23, 1.188304),  # QPSK 3/5
    (3.10, 1.322253),  # QPSK 2/3
    (4.03, 1.487473),  # QPSK 3/4
    (4.68, 1.587196),  # QPSK 4/5
    (5.18, 1.654663),  # QPSK 5/6
    (5.50, 1.779991),  # 8PSK 3/5
    (6.62, 1.980636),  # 8PSK 2/3
    (7.91, 2.228124),  # 8PSK 3/4
    (8.97, 2.637201),  # 16APSK 2/3
    (10.21, 2.966728),  # 16APSK 3/4
    (11.03, 3.165623),  # 16APSK 4/5
    (11.61, 3.300184),  # 16APSK 5/6
    (12.73, 3.703295),  # 32APSK 3/4
    (13.64, 3.951571),  # 32APSK 4/5
    (14.28, 4.119540),  # 32APSK 5/6
    (15.69, 4.397854),  # 32APSK 8/9
    (16.05, 4.453027),  # 32APSK 9/10
)
"""Without the codes that another code beats at a weaker signal."""

THRESHOLD_DB: Floats = np.array([row[0] for row in _TABLE])
BITS_PER_SYMBOL: Floats = np.array([row[1] for row in _TABLE])

_DB_PER_DECADE = 0.05
"""Steepness of the decoder's waterfall: 0.35 dB below its threshold a code loses every packet. The standard
gives only the threshold; published curves of these codes are about this steep."""


def best(snr_db: Floats) -> NDArray[np.intp]:
    """Return the index of the fastest usable code at each Es/N0, or -1."""
    return np.searchsorted(THRESHOLD_DB, snr_db, side="right") - 1


def residual_loss(row: NDArray[np.intp], snr_db: Floats) -> Floats:
    """Return the packet error rate of each code at an Es/N0: 1e-7 at its threshold, 1 well below it."""
    margin_db = snr_db - THRESHOLD_DB[np.maximum(row, 0)]
    return 10 ** np.minimum(-7 - margin_db / _DB_PER_DECADE, 0.0)
