"""No browser is never a silent skip."""

import re
import shutil
import subprocess
from pathlib import Path

import headless
import pytest

MAKEFILE = Path(__file__).parents[2] / "Makefile"


class Plugins:
    """What a pytest run keeps its plugins in."""

    def __init__(self):
        self.found = {}
        self.config = self
        self.pluginmanager = self

    def has_plugin(self, name):
        return name in self.found

    def register(self, plugin, name):
        self.found[name] = plugin


class Terminal:
    """Collects what would be printed."""

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


def test_a_skip_is_announced_in_red_at_the_end(no_browser):
    for _ in range(2):
        with pytest.raises(pytest.skip.Exception, match="apt-get install"):
            headless.find_browser(no_browser)
    (alarm,) = no_browser.found.values()
    terminal = Terminal()
    alarm.pytest_terminal_summary(terminal)
    assert any("BROWSER TESTS WERE SKIPPED" in line for _, line, _ in terminal.words)
    assert all(look == {"red": True, "bold": True} for *_, look in terminal.words)


@pytest.mark.parametrize("value", ["true", "1", "True"])
def test_where_ci_is_set_no_browser_is_a_failure(no_browser, monkeypatch, value):
    monkeypatch.setenv("CI", value)
    with pytest.raises(pytest.fail.Exception, match="CI does not skip browser tests"):
        headless.find_browser(no_browser)


def test_a_browser_is_used_where_there_is_one(monkeypatch):
    monkeypatch.setattr(headless.shutil, "which", lambda name: f"/bin/{name}" if "google" in name else None)
    assert headless.find_browser(Plugins()) == "/bin/google-chrome"


def test_make_looks_for_the_same_browsers():
    names = re.search(r"^BROWSERS := (.*)$", MAKEFILE.read_text(), re.MULTILINE).group(1)
    assert tuple(names.split()) == headless.NAMES


@pytest.fixture
def make(tmp_path):
    """Make the browser stamp with these programs and no others beside the shell's own."""

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
def test_make_installs_chromium_where_it_may(make):
    done, stamped, log = make(id="echo 0", apt_get="exit 0")
    assert done.returncode == 0, done.stderr
    assert stamped
    assert "install -y --no-install-recommends chromium" in log


@needs_make
def test_make_asks_sudo_where_it_is_not_root(make):
    done, stamped, log = make(id="echo 1000", sudo="exit 0", apt_get="exit 0")
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
def test_make_goes_on_where_it_may_not(make, programs):
    done, stamped, log = make(**programs)
    assert done.returncode == 0, done.stderr
    assert not stamped
    assert "browser tests will be skipped" in done.stdout
    assert "apt_get" not in log or "exit 100" in programs.get("apt_get", "")


@needs_make
def test_make_leaves_a_browser_alone(make):
    done, stamped, log = make(chromium="exit 0", id="echo 0", apt_get="exit 0")
    assert (done.returncode, stamped, log) == (0, True, "")
