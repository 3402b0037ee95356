"""Control chromium through its debugging protocol over two pipes."""

import base64
import json
import os
import subprocess
import time
from contextlib import contextmanager

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--disable-extensions", "--hide-scrollbars", "--remote-debugging-pipe"),
)


class Chromium:
    """The browser; ``page`` opens a tab."""

    def __init__(self, program, profile):
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()

        def place():
            """Move the pipes to descriptors 3 and 4, which the protocol uses."""
            first, second = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self.process = subprocess.Popen(  # noqa: S603
            [program, *FLAGS, f"--user-data-dir={profile}"],
            preexec_fn=place,
            close_fds=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.out, self.incoming = ours_out, os.fdopen(ours_in, "rb", buffering=0)
        self.number, self.buffer, self.events = 0, b"", []

    def call(self, method, session=None, **parameters):
        self.number += 1
        words = {"id": self.number, "method": method, "params": parameters}
        if session is not None:
            words["sessionId"] = session
        os.write(self.out, json.dumps(words).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method, session):
        """Wait for the next event of this name in a tab."""
        while True:
            answer = self._receive()
            self.events.append(answer)
            if (answer.get("method"), answer.get("sessionId")) == (method, session):
                return

    def _receive(self):
        while b"\0" not in self.buffer:
            piece = self.incoming.read(1 << 16)
            if not piece:
                raise RuntimeError("the browser is gone")
            self.buffer += piece
        line, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(line)

    @contextmanager
    def opened(self, address, **look):
        """Context manager of a tab that is closed at the end."""
        page = self.page(address, **look)
        try:
            yield page
        finally:
            page.close()

    def page(self, address, *, width=1280, height=900, dark=False):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, target, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        page.call("Emulation.setEmulatedMedia", features=scheme)
        page.call("Emulation.setFocusEmulationEnabled", enabled=True)
        page.resize(width, height)
        page.open(address)
        return page

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.out)
        self.incoming.close()


class Page:
    """A tab."""

    def __init__(self, browser, target, session):
        self.browser, self.target, self.session = browser, target, session

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def resize(self, width, height):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def open(self, address):
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'")

    def settle(self, milliseconds=4000):
        """Advance the virtual time of the page, so that its timers and scripts run."""
        policy = "pauseIfNetworkFetchesPending"
        self.call("Emulation.setVirtualTimePolicy", policy=policy, budget=milliseconds)
        self.browser.wait_for("Emulation.virtualTimeBudgetExpired", self.session)

    def run(self, script):
        """The value of a script; promises are awaited."""
        options = {"returnByValue": True, "awaitPromise": True}
        answer = self.call("Runtime.evaluate", expression=script, **options)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"])[:500])
        return answer["result"].get("value")

    def wait(self, script, seconds=120):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if self.run(f"!!({script})"):
                    return
            except RuntimeError:  # between two documents
                pass
            time.sleep(0.02)
        raise TimeoutError(
            f"{script} did not become true; the page says: {self.run('document.body.innerText')[:300]}"
        )

    def key(self, key):
        code = {"Enter": 13, "ArrowDown": 40, "Escape": 27, "Tab": 9}.get(key, ord(key.upper()[0]))
        letter = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **letter)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def click(self, selector):
        self.run(f"document.querySelector({json.dumps(selector)}).click()")

    def picture(self, path, *, whole=False):
        content = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(content))

    def console_errors(self):
        """Errors and warnings in the console of the page."""
        self.run("0")
        found = [
            event["params"]
            for event in self.browser.events
            if event.get("sessionId") == self.session
            and event["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")
        ]
        return [str(one)[:400] for one in found if one.get("entry", {}).get("level", "error") == "error"]

    def requests(self):
        """Addresses that the page requested."""
        self.run("0")
        return [
            event["params"]["request"]["url"]
            for event in self.browser.events
            if event.get("sessionId") == self.session and event["method"] == "Network.requestWillBeSent"
        ]

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)
