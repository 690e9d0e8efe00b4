"""The simulator's distance from the real kernel, scheme by scheme.

leogym fidelity [SCHEME…] [--runs]     # compare the simulator with the golden files
leogym fidelity record FOLDER [--keep] # make golden files from a lab evaluation
"""

from leogym.evaluation.fidelity.against_kernel import Comparison as Comparison
from leogym.evaluation.fidelity.against_kernel import compare as compare
from leogym.evaluation.fidelity.against_kernel import redrawn as redrawn
from leogym.evaluation.fidelity.bounds import BEYOND as BEYOND
from leogym.evaluation.fidelity.bounds import BOUNDS as BOUNDS
from leogym.evaluation.fidelity.bounds import CLASSIC_MARKS as CLASSIC_MARKS
from leogym.evaluation.fidelity.bounds import CROWDS as CROWDS
from leogym.evaluation.fidelity.bounds import DRAWS as DRAWS
from leogym.evaluation.fidelity.bounds import QUEUEING as QUEUEING
from leogym.evaluation.fidelity.bounds import RATIO as RATIO
from leogym.evaluation.fidelity.bounds import RATIOS as RATIOS
from leogym.evaluation.fidelity.bounds import SHARE as SHARE
from leogym.evaluation.fidelity.bounds import STRICT as STRICT
from leogym.evaluation.fidelity.bounds import STRICT_DRAWS as STRICT_DRAWS
from leogym.evaluation.fidelity.bounds import STRICT_QUEUEING as STRICT_QUEUEING
from leogym.evaluation.fidelity.bounds import known as known
from leogym.evaluation.fidelity.bounds import misses as misses
from leogym.evaluation.fidelity.queues import Queueing as Queueing
from leogym.evaluation.fidelity.queues import queueing as queueing
from leogym.evaluation.fidelity.shares import Crossing as Crossing
from leogym.evaluation.fidelity.shares import Crowd as Crowd
from leogym.evaluation.fidelity.shares import Sharing as Sharing
from leogym.evaluation.fidelity.shares import crossings as crossings
from leogym.evaluation.fidelity.shares import crowds as crowds
from leogym.evaluation.fidelity.shares import sharing as sharing
from leogym.evaluation.fidelity.summary import SINGLE as SINGLE
from leogym.evaluation.fidelity.summary import SINGLES as SINGLES
from leogym.evaluation.fidelity.summary import Fidelity as Fidelity
from leogym.evaluation.fidelity.summary import fidelity as fidelity
from leogym.evaluation.fidelity.summary import kernel as kernel
from leogym.evaluation.fidelity.summary import of_results as of_results
from leogym.evaluation.fidelity.summary import summary as summary
