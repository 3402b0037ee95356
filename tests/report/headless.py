"""The browser that opens pages, Debian's chromium, or a skip that cannot be overlooked."""

import os
import shutil

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HOW = "install it (on Debian: apt-get install -y --no-install-recommends chromium)"


class Alarm:
    """Says at the end of all tests, in red, that there was no browser."""

    def pytest_terminal_summary(self, terminalreporter):
        words = f"BROWSER TESTS WERE SKIPPED: nobody checked that reports run no script; {HOW}"
        terminalreporter.write_sep("!", "no chromium", red=True, bold=True)
        terminalreporter.write_line(words, red=True, bold=True)


def find_browser(request):
    """For a session fixture: the program, or a skip nobody overlooks; with CI=true a failure."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is not None:
        return program
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(f"there is no chromium, and CI does not skip browser tests: {HOW}")
    plugins = request.config.pluginmanager
    if not plugins.has_plugin("no-chromium"):
        plugins.register(Alarm(), "no-chromium")
    pytest.skip(f"there is no chromium: {HOW}")
    return None
