"""Start a command whose import takes seconds, with signals and standard streams handled from the start."""

import importlib
import signal
import sys
from collections.abc import Callable

from leogym.common import home, signals, streams


def run(program: str, module: str) -> int:
    """Import ``module``, call its ``main``, and return the exit status.

    Outputs record ``program``, such as ``leogym train``, as the command that made them.
    """
    sys.argv[0] = program
    return started(lambda: importlib.import_module(module).main())


def started(command: Callable[[], int]) -> int:
    """Call ``command``; return its exit status, also after a signal or a failed write to stdout.

    `common.errors.reports_input_errors` handles more, but its imports take time.
    """
    streams.prepare()
    home.prepare()
    with signals.handled():
        try:
            status = command()
            sys.stdout.flush()
        except KeyboardInterrupt as interrupt:
            return signals.ended(interrupt)
        except ModuleNotFoundError as error:
            from leogym.common import extras  # here, because its imports take time

            if (remedy := extras.remedy_for(error)) is None:
                raise
            print(f"this command {remedy}", file=sys.stderr)
            return 2
        except BrokenPipeError:
            streams.drop_output()
            return 128 + signal.SIGPIPE
        except OSError as error:
            if error.filename != streams.OUTPUT:
                raise
            streams.drop_output()
            print(f"{error.filename}: {error.strerror}", file=sys.stderr)
            return 2
        return status
