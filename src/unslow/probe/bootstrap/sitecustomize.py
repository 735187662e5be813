"""Start the probe before the script's first line, then hand over to the sitecustomize that would have run without us."""
# mypy: ignore-errors
# This file must parse on every Python 3: the script's interpreter may be older than ours (so no annotations).

import sys


def _chain_load(here):
    """Import the next ``sitecustomize`` on the path, as if this one were not there."""
    from importlib.machinery import PathFinder

    sys.path[:] = [entry for entry in sys.path if entry != here]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    from _frozen_importlib import module_from_spec

    module = module_from_spec(spec)
    # The import system returns what it finds under this name, so the user's module takes our place.
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _start(here):
    """Load the probe by path under a private name: the installed ``unslow`` may live in another environment."""
    import os

    folder = os.environ.get("UNSLOW_RUN")
    if not folder or sys.version_info < (3, 11):
        return
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import spec_from_file_location

    probe = os.path.dirname(here)
    spec = spec_from_file_location("_unslow_probe", os.path.join(probe, "__init__.py"), submodule_search_locations=[probe])
    module = module_from_spec(spec)
    sys.modules["_unslow_probe"] = module
    spec.loader.exec_module(module)
    from _unslow_probe.start import start

    start(folder)


def _run():
    here = __file__.rpartition("/")[0] or __file__.rpartition("\\")[0]
    try:
        _start(here)
    except Exception as problem:  # a tool that cannot start must leave the script alone
        try:
            with open(_problem_file(), "a") as file:
                file.write("%s: %s\n" % (type(problem).__name__, problem))
        except Exception:
            pass
    _chain_load(here)


def _problem_file():
    import os

    return os.path.join(os.environ["UNSLOW_RUN"], "recording", "probe-problem.txt")


_run()
