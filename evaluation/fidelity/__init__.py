"""The simulator's distance from the real kernel, scheme by scheme.

python -m evaluation.fidelity [SCHEME…] [--runs]     # compare the simulator with the golden files
python -m evaluation.fidelity record FOLDER [--keep] # make golden files from a lab evaluation
"""

from evaluation.fidelity.against_kernel import Comparison as Comparison
from evaluation.fidelity.against_kernel import compare as compare
from evaluation.fidelity.against_kernel import redrawn as redrawn
from evaluation.fidelity.bounds import BEYOND as BEYOND
from evaluation.fidelity.bounds import BOUNDS as BOUNDS
from evaluation.fidelity.bounds import CROWDS as CROWDS
from evaluation.fidelity.bounds import DRAWS as DRAWS
from evaluation.fidelity.bounds import QUEUEING as QUEUEING
from evaluation.fidelity.bounds import RATIO as RATIO
from evaluation.fidelity.bounds import RATIOS as RATIOS
from evaluation.fidelity.bounds import SHARE as SHARE
from evaluation.fidelity.bounds import known as known
from evaluation.fidelity.bounds import misses as misses
from evaluation.fidelity.queues import Queueing as Queueing
from evaluation.fidelity.queues import queueing as queueing
from evaluation.fidelity.shares import Crossing as Crossing
from evaluation.fidelity.shares import Crowd as Crowd
from evaluation.fidelity.shares import Sharing as Sharing
from evaluation.fidelity.shares import crossings as crossings
from evaluation.fidelity.shares import crowds as crowds
from evaluation.fidelity.shares import sharing as sharing
from evaluation.fidelity.summary import SINGLE as SINGLE
from evaluation.fidelity.summary import Fidelity as Fidelity
from evaluation.fidelity.summary import fidelity as fidelity
from evaluation.fidelity.summary import kernel as kernel
from evaluation.fidelity.summary import of_results as of_results
from evaluation.fidelity.summary import summary as summary
