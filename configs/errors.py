"""`InputError` where scripts of users import it from; it is defined in `leogym.common.errors`."""

from leogym.common.errors import InputError as InputError
