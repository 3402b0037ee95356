"""The page in a browser: keys, tabs, names with HTML, many suspects."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest
from payloads import payloads
from review_samples import made_frame, review_data_of, served, small_run

from noiseproof.labels import Decision, DecisionLog
from noiseproof.review.review_data import ReviewData

READY = "document.querySelector('#sample').dataset.drawn !== undefined"
ROW = "document.querySelector('#rows > div')"
SAVED = "document.querySelector('#saved').textContent === 'Saved'"


@pytest.fixture
def open_tab(browser, tmp_path):
    """Open the page at an address; it is closed after the test."""
    pages = []

    def open_page(address, **look):
        pages.append(browser.page(address, **look))
        return pages[-1]

    yield open_page
    for page in pages:
        page.close()


def confirmed_decisions(page):
    return int(page.run("document.querySelector('#saved').dataset.confirmed"))


@pytest.mark.slow
def test_200_decisions_by_keyboard(open_tab, tmp_path):
    with served(review_data_of(made_frame(260), tmp_path)) as (address, app):
        page = open_tab(address)
        page.wait(READY)
        keys = "kaduka" * 34
        for key in keys[:200]:
            page.key(key)
        page.wait(f"{SAVED} && document.querySelector('#saved').dataset.confirmed === '200'")
        kept = DecisionLog(app.log.path).decisions
        names = {"k": "keep", "a": "relabel", "d": "drop", "u": "unsure"}
        assert [one.decision for one in kept] == [names[key] for key in keys[:200]]
        assert [one.sample for one in kept] == [3 * row for row in range(200)]
        assert page.run("document.querySelector('#progress').textContent").startswith(
            "200 of 260 suspects decided"
        )
        page.key("z")
        page.wait(f"{SAVED} && document.querySelector('#saved').dataset.confirmed === '201'")
        assert len(app.log.states()) == 199
        assert page.run("all.number[current]") == 3 * 199
        assert page.console_errors() == []


def test_class_chooser_filters_1000_classes(open_tab, tmp_path):
    names = [f"species {number:04d}" for number in range(1000)]
    with served(review_data_of(made_frame(20, 1000, names=names), tmp_path)) as (address, app):
        page = open_tab(address)
        page.wait(READY)
        page.key("c")
        page.wait("document.querySelector('#chooser').open")
        page.type("0777")
        page.wait("document.querySelectorAll('#chooser-list [role=option]').length === 1")
        page.key("Enter")
        page.wait(SAVED)
        page.wait("document.querySelector('#saved').dataset.confirmed === '1'")
        assert app.log.state(0).current.label == "species 0777"


def test_decisions_on_a_class_pair_are_undone_together(open_tab, tmp_path):
    with served(review_data_of(made_frame(400, 3), tmp_path)) as (address, app):
        page = open_tab(address)
        page.wait(READY)
        page.click("#view-pairs")
        page.click("#pairs button.link")
        page.wait("document.querySelector('[data-many=relabel]')")
        total = page.run("opened.places.length")
        assert total > 24
        page.click("#pairs .tiles input")
        page.click("[data-many=relabel]")
        page.wait("document.querySelector('#ask').open")
        page.click("#ask-yes")
        page.wait(f"{SAVED} && Number(document.querySelector('#saved').dataset.confirmed) === {total - 1}")
        assert len(app.log.states()) == total - 1
        page.key("z")
        page.wait(
            f"{SAVED} && Number(document.querySelector('#saved').dataset.confirmed) === {2 * total - 2}"
        )
        assert app.log.states() == {}


@pytest.mark.slow
def test_second_tab_is_merged_and_shows_conflicts(open_tab, tmp_path):
    with served(review_data_of(made_frame(12), tmp_path)) as (address, app):
        first = open_tab(address)
        first.wait(READY)
        second = open_tab(address)
        second.wait(READY)
        first.wait("document.querySelector('#notice').textContent.includes('1 other tab is open')")
        first.key("k")
        first.wait(f"{SAVED} && document.querySelector('#saved').dataset.confirmed === '1'")
        second.wait("states.get(0)?.decision === 'keep'")
        both = "all.number[current] === 3"
        first.wait(both)
        DecisionLog(app.log.path).append([Decision(3, "drop", reviewer="ben", seen=None, session="far")])
        first.key("a")
        first.wait("document.querySelector('#notice').textContent.includes('1 conflict')")
        first.wait("document.querySelector('#notice').textContent.includes('ben made decisions elsewhere')")
        second.wait("states.get(3)?.conflict")
        second.run("byId('filter-state').value = 'conflict'; filtersChanged()")
        second.wait("document.querySelector('#state').textContent.includes('Conflict: relabelled')")
        second.key("k")
        first.wait("states.get(3)?.decision === 'keep' && !states.get(3).conflict")


@pytest.mark.slow
def test_html_in_names_and_texts_is_escaped(open_tab, tmp_path):
    names = [*dict.fromkeys(f"{number} {name}" for number, name in enumerate(payloads("http://127.0.0.1:9")))]
    place = tmp_path / "rows.csv"
    lines = ["x,text,label"]
    for number, name in enumerate(names):
        text = (
            f"{name}\n{name}{'.' * 60}".encode("utf-8", "replace")
            .decode()
            .replace('"', '""')
            .replace("\x00", "")
        )
        lines.append(f'{number},"{text}",{number % 2}')
    place.write_bytes("\n".join(lines).encode())
    frame = made_frame(len(names), len(names), names=names)
    frame["index"] = range(len(names))
    review_data = review_data_of(frame, tmp_path, data=f'csv(path="{place}", features="x")')
    with served(review_data, "<script>document.documentElement.dataset.ran=1</script>") as (address, _):
        page = open_tab(address)
        page.wait(READY)
        for _ in range(40):
            page.key("a")
        page.wait(SAVED)
        page.wait("document.querySelector('.prose')")
        page.click("#view-pairs")
        page.key("?")
        time.sleep(0.5)
        assert page.run("document.documentElement.dataset.ran") is None
        assert page.run("document.querySelectorAll('script').length") == 1
        assert (
            page.run(
                "document.querySelectorAll('iframe, object, embed, base, video, form:not(#filters)').length"
            )
            == 0
        )
        outside = [
            url
            for url in page.requests()
            if not url.startswith((address.partition("/?")[0], "data:", "about:"))
        ]
        assert outside == []
        assert page.console_errors() == []


def test_wrong_token_shows_an_error(open_tab, tmp_path):
    with served(review_data_of(made_frame(5), tmp_path)) as (address, _):
        page = open_tab(address + "x")
        assert "token is missing or wrong" in page.run("document.body.innerText")
        assert page.run("document.querySelector('script')") is None


@pytest.mark.slow
def test_cross_origin_requests_are_refused(open_tab, tmp_path):
    with (
        served(review_data_of(made_frame(5), tmp_path)) as (address, app),
        served(review_data_of(made_frame(5), tmp_path / "other")) as (elsewhere, _),
    ):
        page = open_tab(elsewhere)
        page.wait(READY)
        page.call("Page.setBypassCSP", enabled=True)
        page.open(elsewhere)
        page.wait(READY)
        target = address.partition("/?")[0]
        for path, method in (("/api/start", "GET"), ("/api/decide", "POST")):
            options = f"{{method: '{method}', headers: {{'x-noiseproof-token': token}}}}"
            script = f"fetch('{target}{path}', {options}).then((a) => a.status, () => 'refused')"
            assert page.run(script) == "refused"
        assert not app.log.path.exists()


@pytest.mark.slow
def test_page_with_100000_suspects_responds_in_time(open_tab, tmp_path):
    with served(review_data_of(made_frame(100_000, 1000), tmp_path)) as (address, app):
        begin = time.monotonic()
        page = open_tab(address)
        page.wait(READY)
        assert time.monotonic() - begin < 15
        assert page.run("document.querySelectorAll('#rows > div').length") < 60
        page.run("byId('list').scrollTop = 3e6")
        page.wait(f"positionOf(Number({ROW}.id.slice(4))) > 60000")
        assert page.run("document.querySelectorAll('#rows > div').length") < 60
        twenty = "for (let i = 0; i < 20; i++) ACTIONS.keep()"
        script = f"{{const t = performance.now(); {twenty}; performance.now() - t}}"
        assert page.run(script) < 2000  # milliseconds for 20 decisions, all counts included
        page.run("byId('filter-class').value = 'class 77'; filtersChanged()")
        assert 0 < page.run("visible.length") < 3000
        page.wait(SAVED)
        assert len(app.log.states()) == 20
        assert page.run("document.querySelectorAll('*').length") < 1500


@pytest.mark.parametrize("width", [320, 400, 1280])
def test_page_has_no_horizontal_scrolling(open_tab, tmp_path, width):
    names = [
        "a name without any space that is far longer than a telephone is wide".replace(" ", "_"),
        "b",
        "c",
        "d",
    ]
    run = small_run(tmp_path / "run", class_names=names)
    with served(ReviewData(run)) as (address, _):
        page = open_tab(address, width=width, height=800)
        page.wait(READY)
        page.wait("document.querySelector('#related section')")
        assert page.run("document.documentElement.scrollWidth") <= width
        page.click("#view-pairs")
        page.click("#pairs button.link")
        assert page.run("document.documentElement.scrollWidth") <= width
        small = "[...document.querySelectorAll('#pairs button')].filter((b) => b.offsetHeight < 24).length"
        assert page.run(small) == 0


def test_controls_and_images_have_accessible_names(open_tab, tmp_path):
    with served(ReviewData(small_run(tmp_path / "run"))) as (address, _):
        page = open_tab(address)
        page.wait(READY)
        tree = page.call("Accessibility.getFullAXTree")["nodes"]
        roles = {"button", "textbox", "searchbox", "spinbutton", "combobox", "image", "listbox", "option"}
        found = [
            node for node in tree if node.get("role", {}).get("value") in roles and not node.get("ignored")
        ]
        assert len(found) > 20
        nameless = [
            node["role"]["value"] for node in found if not node.get("name", {}).get("value", "").strip()
        ]
        assert nameless == []


def start(run):
    command = [sys.executable, "-m", "noiseproof.cli.main", "labels", "review", str(run)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
    for line in server.stdout:
        if address := re.search(r"http://\S+", line):
            return server, address[0]
    raise AssertionError("the server did not start")


@pytest.mark.slow
def test_killed_server_keeps_confirmed_decisions(open_tab, tmp_path):
    run = small_run(tmp_path / "run", 1200)
    server, address = start(run.folder)
    try:
        page = open_tab(address)
        page.wait(READY)
        for number in range(100):
            page.key("kad"[number % 3])
            if number == 60:
                os.kill(server.pid, signal.SIGKILL)
        server.wait()
        page.wait("document.querySelector('#saved').textContent === 'Not saved'")
        said = confirmed_decisions(page)
        assert "not saved" in page.run("document.querySelector('#error').textContent")
    finally:
        server.kill()
        server.stdout.close()
    kept = DecisionLog(run.folder / "decisions.jsonl")
    assert said <= len(kept.decisions) <= 100
    assert said > 0
    server, address = start(run.folder)
    try:
        again = open_tab(address)
        again.wait(READY)
        words = again.run("document.querySelector('#progress').textContent")
        assert words.startswith(f"{len(kept.decisions)} of ")
        assert again.run("updates.servers.length") == 0  # the killed server left no trace
        with served(ReviewData(run), "ben"):
            again.wait(
                "document.querySelector('#notice').textContent.startsWith('ben has the same labels open')"
            )
        again.wait("document.querySelector('#notice').hidden")
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()
