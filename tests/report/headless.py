"""Find the browser that opens the pages, or skip the test with a warning at the end of the session."""

import os
import shutil

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HOW = "install it (on Debian: apt-get install -y --no-install-recommends chromium)"


class NoBrowserWarning:
    """Print a red warning at the end of the session that no browser was found."""

    def pytest_terminal_summary(self, terminalreporter):
        words = f"BROWSER TESTS WERE SKIPPED: it was not checked that reports run no script; {HOW}"
        terminalreporter.write_sep("!", "no chromium", red=True, bold=True)
        terminalreporter.write_line(words, red=True, bold=True)


def find_browser(request):
    """Return the path of the browser; without one skip the test, or fail it if CI=true."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is not None:
        return program
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(f"there is no chromium, and CI does not skip browser tests: {HOW}")
    plugins = request.config.pluginmanager
    if not plugins.has_plugin("no-chromium"):
        plugins.register(NoBrowserWarning(), "no-chromium")
    pytest.skip(f"there is no chromium: {HOW}")
    return None
