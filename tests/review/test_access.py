"""Only the review page of this machine can read data and post decisions."""

import re

import pytest
from review_samples import TOKEN, client_of, made_frame, review_data_of

from noiseproof.labels import DecisionLog
from noiseproof.review.access import MAX_BODY_BYTES

RIGHT = {"x-noiseproof-token": TOKEN}
DECISION = {"session": "s", "decisions": [{"sample": 3, "decision": "keep", "id": "0" * 12, "seen": None}]}


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """One server for all tests that save no decision."""
    with client_of(review_data_of(made_frame(5), tmp_path_factory.mktemp("access")), token=None) as found:
        yield found


@pytest.fixture
def app(pair):
    return pair[0]


@pytest.fixture
def client(pair):
    return pair[1]


def origin_of(client):
    """The origin of the page."""
    return str(client.base_url).rstrip("/")


def test_page_needs_the_right_token(client):
    assert client.get("/", params={"token": TOKEN}).status_code == 200
    for wrong in ("", "x", TOKEN[:-1], TOKEN + "x"):
        answer = client.get("/", params={"token": wrong})
        assert (answer.status_code, "token is missing or wrong" in answer.text) == (403, True)
    assert client.get("/").status_code == 403


@pytest.mark.parametrize(
    "path", ["/api/start", "/api/sample/3", "/api/related/3", "/api/updates", "/nowhere"]
)
def test_api_requests_need_the_token_header(client, path):
    assert client.get(path).status_code == 403
    assert client.get(path, params={"token": TOKEN}).status_code == 403
    assert client.get(path, headers={"x-noiseproof-token": "wrong"}).status_code == 403
    assert client.get(path, headers=RIGHT).status_code in (200, 404)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8111", "127.0.0.1.evil.example", "192.168.0.2:8111"]
)
def test_foreign_host_names_are_refused(client, host):
    assert client.get("/api/start", headers={**RIGHT, "host": host}).status_code == 403
    assert client.get("/", params={"token": TOKEN}, headers={"host": host}).status_code == 403


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "http://127.0.0.1:9", "https://127.0.0.1:8111", "null", "http://localhost:8111"],
)
def test_requests_from_another_origin_are_refused(app, client, origin):
    headers = {**RIGHT, "origin": origin}
    assert client.get("/api/start", headers=headers).status_code == 403
    assert client.post("/api/decide", json=DECISION, headers=headers).status_code == 403
    assert client.options("/api/decide", headers=headers).status_code == 403
    assert DecisionLog(app.log.path).decisions == []
    answer = client.get("/api/start", headers={**RIGHT, "origin": origin_of(client)})
    assert "access-control-allow-origin" not in answer.headers


def test_cross_site_requests_are_refused_by_sec_fetch_site(client, tmp_path):
    for site in ("cross-site", "same-site"):
        assert client.get("/api/start", headers={**RIGHT, "sec-fetch-site": site}).status_code == 403
    link = {"sec-fetch-site": "cross-site", "sec-fetch-dest": "document"}
    assert client.get("/", params={"token": TOKEN}, headers=link).status_code == 200
    assert client.get("/api/start", headers={**RIGHT, **link}).status_code == 403
    with client_of(review_data_of(made_frame(5), tmp_path), token=None) as (_, other):
        right = {**RIGHT, "sec-fetch-site": "same-origin", "origin": origin_of(other)}
        assert other.post("/api/decide", json=DECISION, headers=right).status_code == 200


def test_page_has_a_strict_content_security_policy(client):
    answer = client.get("/", params={"token": TOKEN})
    policy = answer.headers["content-security-policy"]
    nonce = re.search(r"script-src 'nonce-([\w-]+)'", policy)[1]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert answer.text.count(f'<script nonce="{nonce}">') == answer.text.count("<script") == 1
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", answer.text)
    assert nonce not in client.get("/", params={"token": TOKEN}).text
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["cache-control"] == "no-store"
    assert TOKEN not in answer.text


def test_long_requests_are_refused(client):
    long = b" " * (MAX_BODY_BYTES + 1)
    assert client.post("/api/decide", content=long, headers=RIGHT).status_code == 403
    pieces = (b" " * (1 << 20) for _ in range(17))
    assert client.post("/api/decide", content=pieces, headers=RIGHT).status_code == 400
