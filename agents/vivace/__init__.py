"""PCC Vivace (Dong et al., NSDI 2018): learns online from a utility function."""

from leogym.agents.training.scheme import Scheme

SCHEME = Scheme(name="vivace", summary="PCC Vivace (Dong et al., NSDI 2018): learns online, nothing to train")
