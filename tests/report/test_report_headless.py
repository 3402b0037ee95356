"""A missing browser skips tests with a warning, or fails them in CI."""

import re
import shutil
import subprocess
from pathlib import Path

import headless
import pytest

MAKEFILE = Path(__file__).parents[2] / "Makefile"


class Plugins:
    """Replacement of the plugin manager of pytest."""

    def __init__(self):
        self.found = {}
        self.config = self
        self.pluginmanager = self

    def has_plugin(self, name):
        return name in self.found

    def register(self, plugin, name):
        self.found[name] = plugin


class Terminal:
    """Replacement of the terminal reporter that collects printed lines."""

    def __init__(self):
        self.words = []

    def write_sep(self, mark, title, **look):
        self.words.append((mark, title, look))

    def write_line(self, line, **look):
        self.words.append(("", line, look))


@pytest.fixture
def no_browser(monkeypatch):
    monkeypatch.setattr(headless.shutil, "which", lambda name: None)
    monkeypatch.delenv("CI", raising=False)
    return Plugins()


def test_skip_without_browser_is_printed_in_red(no_browser):
    for _ in range(2):
        with pytest.raises(pytest.skip.Exception, match="apt-get install"):
            headless.find_browser(no_browser)
    (alarm,) = no_browser.found.values()
    terminal = Terminal()
    alarm.pytest_terminal_summary(terminal)
    assert any("BROWSER TESTS WERE SKIPPED" in line for _, line, _ in terminal.words)
    assert all(look == {"red": True, "bold": True} for *_, look in terminal.words)


@pytest.mark.parametrize("value", ["true", "1", "True"])
def test_missing_browser_fails_in_ci(no_browser, monkeypatch, value):
    monkeypatch.setenv("CI", value)
    with pytest.raises(pytest.fail.Exception, match="CI does not skip browser tests"):
        headless.find_browser(no_browser)


def test_installed_browser_is_found(monkeypatch):
    monkeypatch.setattr(headless.shutil, "which", lambda name: f"/bin/{name}" if "google" in name else None)
    assert headless.find_browser(Plugins()) == "/bin/google-chrome"


def test_makefile_lists_the_same_browsers():
    names = re.search(r"^BROWSERS := (.*)$", MAKEFILE.read_text(), re.MULTILINE).group(1)
    assert tuple(names.split()) == headless.NAMES


@pytest.fixture
def run_make(tmp_path):
    """Run make for the browser stamp with only these programs on the path."""

    def run(**programs):
        tools = tmp_path / "bin"
        tools.mkdir()
        for name, script in programs.items():
            (tools / name.replace("_", "-")).write_text(
                f"#!/bin/sh\necho {name} $@ >> {tmp_path}/log\n{script}\n"
            )
            (tools / name.replace("_", "-")).chmod(0o755)
        for name in ("sh", "touch", "env"):
            (tools / name).symlink_to(shutil.which(name))
        (tmp_path / "venv").mkdir()
        stamp = tmp_path / "venv" / ".browser"
        command = [
            "/usr/bin/make",
            "-f",
            MAKEFILE,
            f"VENV={tmp_path / 'venv'}",
            "-o",
            tmp_path / "venv/.installed",
        ]
        done = subprocess.run(  # noqa: S603
            [*command, stamp],
            env={"PATH": str(tools)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        log = tmp_path / "log"
        return done, stamp.exists(), log.read_text() if log.exists() else ""

    return run


needs_make = pytest.mark.skipif(not Path("/usr/bin/make").is_file(), reason="there is no make")


@needs_make
def test_make_installs_chromium_as_root(run_make):
    done, stamped, log = run_make(id="echo 0", apt_get="exit 0")
    assert done.returncode == 0, done.stderr
    assert stamped
    assert "install -y --no-install-recommends chromium" in log


@needs_make
def test_make_uses_sudo_if_not_root(run_make):
    done, stamped, log = run_make(id="echo 1000", sudo="exit 0", apt_get="exit 0")
    assert (done.returncode, stamped) == (0, True)
    assert "sudo -n env DEBIAN_FRONTEND=noninteractive apt-get install -y" in log


@needs_make
@pytest.mark.parametrize(
    "programs",
    [
        {"id": "echo 1000", "apt_get": "exit 0"},
        {"id": "echo 1000", "sudo": "exit 1", "apt_get": "exit 0"},
        {"id": "echo 0"},
        {"id": "echo 0", "apt_get": "exit 100"},
    ],
    ids=["not root", "sudo wants a password", "no apt", "apt fails"],
)
def test_make_continues_if_chromium_cannot_be_installed(run_make, programs):
    done, stamped, log = run_make(**programs)
    assert done.returncode == 0, done.stderr
    assert not stamped
    assert "browser tests will be skipped" in done.stdout
    assert "apt_get" not in log or "exit 100" in programs.get("apt_get", "")


@needs_make
def test_make_installs_nothing_if_a_browser_exists(run_make):
    done, stamped, log = run_make(chromium="exit 0", id="echo 0", apt_get="exit 0")
    assert (done.returncode, stamped, log) == (0, True, "")
