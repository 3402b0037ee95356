"""The HTTP API of the page: suspects, details of a sample, decisions and updates."""

from __future__ import annotations

import json
import re
import secrets
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from ..labels.decisions import KINDS, Decision, DecisionLog, State
from ..report.text import one_line
from .access import MAX_BODY_BYTES, AccessControl
from .page import POLICY, page
from .presence import MAX_NAME_LENGTH, Presence
from .review_data import ReviewData
from .sample_details import SampleDetails

MAX_SESSION_LENGTH = 64
ID = "[0-9a-f]{12}"


class App:
    """The application of one review, with its suspects, file of decisions and open pages."""

    def __init__(self, review_data: ReviewData, *, token: str, reviewer: str) -> None:
        self.review_data, self.reviewer = review_data, one_line(reviewer, MAX_NAME_LENGTH)
        self.log, self.details = DecisionLog(review_data.decisions), SampleDetails(review_data)
        self.presence = Presence(review_data.decisions, self.reviewer)
        self._read_count = len(self.log.decisions)
        routes = [
            Route("/", self.page),
            Route("/api/start", self.start),
            Route("/api/sample/{number:int}", self.sample),
            Route("/api/related/{number:int}", self.related),
            Route("/api/updates", self.updates),
            Route("/api/decide", self.decide, methods=["POST"]),
            Route("/api/leave", self.leave, methods=["POST"]),
        ]
        self.asgi = AccessControl(Starlette(routes=routes), token)

    def page(self, request: Request) -> Response:
        nonce = secrets.token_urlsafe(16)
        return HTMLResponse(page(nonce), headers={"content-security-policy": POLICY.format(nonce=nonce)})

    def start(self, request: Request) -> Response:
        facts = self.review_data.facts() | {"reviewer": self.reviewer, "whyNoInputs": self._why_no_inputs()}
        return JSONResponse(facts | self._updates(request, 0))

    def sample(self, request: Request) -> Response:
        number = int(request.path_params["number"])
        if number not in self.review_data.row_of:
            return PlainTextResponse(f"there is no sample {number}\n", status_code=404)
        return JSONResponse(self.details.sample(number))

    def related(self, request: Request) -> Response:
        number = int(request.path_params["number"])
        if number not in self.review_data.row_of:
            return PlainTextResponse(f"there is no sample {number}\n", status_code=404)
        chosen = request.query_params.get("class", "-1")
        label = int(chosen) if chosen.isdigit() and int(chosen) < len(self.review_data.class_names) else -1
        return JSONResponse(self.details.related(number, label))

    def updates(self, request: Request) -> Response:
        after = request.query_params.get("after", "0")
        return JSONResponse(self._updates(request, int(after) if after.isdigit() else 0))

    async def decide(self, request: Request) -> Response:
        """Save decisions; they are on the disk before the response is sent."""
        try:
            wanted = self._read(await _body(request))
        except (ValueError, TypeError, KeyError, RecursionError) as problem:
            return PlainTextResponse(f"invalid decision: {one_line(problem, 200)}\n", status_code=400)
        try:
            saved = await run_in_threadpool(self._save, wanted)
        except OSError as problem:
            return PlainTextResponse(f"not saved: {one_line(problem, 300)}\n", status_code=507)
        return JSONResponse({"saved": saved})

    async def leave(self, request: Request) -> Response:
        """Handle the closing of a page."""
        try:
            self.presence.page_closed(one_line((await _body(request))["session"], MAX_SESSION_LENGTH))
        except (ValueError, TypeError, KeyError, RecursionError):
            return PlainTextResponse("not a session\n", status_code=400)
        return JSONResponse({})

    def _read(self, body: dict[str, Any]) -> list[Decision]:
        session = one_line(body["session"], MAX_SESSION_LENGTH)
        return [self._decision(entry, session) for entry in body["decisions"]]

    def _decision(self, entry: dict[str, Any], session: str) -> Decision:
        sample, kind, number = entry["sample"], entry["decision"], entry.get("label")
        if type(sample) is not int or sample not in self.review_data.row_of:
            raise ValueError(f"there is no sample {sample!r}")
        if kind not in KINDS:
            raise ValueError(f"{kind!r} must be one of {', '.join(KINDS)}")
        label = None
        if kind == "relabel":
            if type(number) is not int or not 0 <= number < len(self.review_data.class_names):
                raise ValueError(f"{number!r} is not a class")
            label = self.review_data.class_names[number]
        seen, own = entry.get("seen"), entry["id"]
        if not re.fullmatch(ID, str(own)) or not (seen is None or isinstance(seen, str)):
            raise ValueError("a decision needs an id of 12 hexadecimal digits, and seen as an id or null")
        seen = None if seen is None else one_line(seen, MAX_SESSION_LENGTH)
        return Decision(sample, kind, label, reviewer=self.reviewer, id=own, seen=seen, session=session)

    def _save(self, wanted: list[Decision]) -> list[dict[str, Any]]:
        """Append decisions that are not in the log yet: a page without a response sends them again."""
        new = [decision for decision in wanted if decision.id not in self.log.ids]
        if new:
            self.log.append(new)
        return [
            self._state_facts(sample, self.log.state(sample))
            for sample in {one.sample: None for one in wanted}
        ]

    def _updates(self, request: Request, after: int) -> dict[str, Any]:
        session = one_line(request.query_params.get("session", ""), MAX_SESSION_LENGTH)
        self.presence.page_seen(session)
        self.log.refresh()
        count = len(self.log.decisions)
        self.presence.decisions_read(self.log.decisions[self._read_count : count])
        self._read_count = count
        if after:
            samples = {decision.sample: None for decision in self.log.decisions[after:count]}
            states = {sample: self.log.state(sample) for sample in samples}
        else:
            states = dict(self.log.states())
        pages, elsewhere, servers = self.presence.others(session)
        changed = [
            self._state_facts(sample, state)
            for sample, state in states.items()
            if sample in self.review_data.row_of
        ]
        others = {"pages": pages, "elsewhere": elsewhere, "servers": servers}
        return {"count": count, "states": changed, **others}

    def _state_facts(self, sample: int, state: State | None) -> dict[str, Any]:
        """The state of a sample as JSON; its decision is None if there is none."""
        if state is None:
            return {"sample": sample, "decision": None}
        current, other = state.current, state.conflict
        found = {"sample": sample, "decision": current.decision, "label": self._class(current)}
        found |= {"id": current.id, "by": current.reviewer, "session": current.session, "time": current.time}
        if other is not None:
            words = {"decision": other.decision, "label": self._class(other), "by": other.reviewer}
            found["conflict"] = words
        return found

    def _class(self, decision: Decision) -> int | None:
        names, label = self.review_data.class_names, decision.label
        if isinstance(label, int):
            return label if 0 <= label < len(names) else None
        return names.index(label) if label in names else None

    def _why_no_inputs(self) -> str:
        _ = self.review_data.inputs
        return self.review_data.why_no_inputs


async def _body(request: Request) -> Any:
    """The JSON body of a request; ValueError if it is longer than MAX_BODY_BYTES."""
    found = b""
    async for piece in request.stream():
        found += piece
        if len(found) > MAX_BODY_BYTES:
            raise ValueError(f"the request body must not exceed {MAX_BODY_BYTES} bytes")
    return json.loads(found)
