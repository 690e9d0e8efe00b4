"""An evaluation's folder for notebooks."""

from leogym.evaluation.recorded.results import Results
from leogym.evaluation.report.card import evaluation_card


class Evaluation(Results):
    """`Results` that a notebook shows as tables and figures."""

    def _repr_html_(self) -> str:
        return evaluation_card(self)
