"""A browser for the pages: Debian's chromium, driven without a window."""

import os
import shutil
import subprocess

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HOW = "install it (on Debian: apt-get install -y --no-install-recommends chromium)"


class Browser:
    """A chromium that opens files, with a profile of its own for each visit."""

    def __init__(self, program, folder):
        self.program, self.folder, self.visits = program, folder, 0

    def run(self, page, *options):
        self.visits += 1
        profile = self.folder / f"profile-{self.visits}"
        command = [self.program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        command += [
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-extensions",
            f"--user-data-dir={profile}",
        ]
        done = subprocess.run(  # noqa: S603
            [*command, *options, page.as_uri()], capture_output=True, timeout=120, check=True
        )
        return done.stdout.decode()

    def dom(self, page):
        """The document after everything that wants to run has had its time."""
        return self.run(page, "--virtual-time-budget=4000", "--dump-dom")

    def picture(self, page, path, *, width=1280, height=900, dark=False):
        scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
        self.run(page, *scheme, f"--window-size={width},{height}", f"--screenshot={path}")
        return path


class Alarm:
    """Says at the end of all tests, in red, that there was no browser."""

    def pytest_terminal_summary(self, terminalreporter):
        words = f"BROWSER TESTS WERE SKIPPED: nobody checked that reports run no script; {HOW}"
        terminalreporter.write_sep("!", "no chromium", red=True, bold=True)
        terminalreporter.write_line(words, red=True, bold=True)


def open_browser(request, tmp_path_factory):
    """For a session fixture: the browser, or a skip nobody overlooks; with CI=true a failure."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is not None:
        return Browser(program, tmp_path_factory.mktemp("browser"))
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(f"there is no chromium, and CI does not skip browser tests: {HOW}")
    plugins = request.config.pluginmanager
    if not plugins.has_plugin("no-chromium"):
        plugins.register(Alarm(), "no-chromium")
    pytest.skip(f"there is no chromium: {HOW}")
    return None
