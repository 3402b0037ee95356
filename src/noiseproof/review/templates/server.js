// Talking to the server. A decision counts as saved when the server has answered, not before.

const token = new URLSearchParams(location.search).get("token") || "";
const randomHex = (bytes) => Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (b) => b.toString(16).padStart(2, "0")).join("");

function sessionName() {
  try {
    const kept = sessionStorage.getItem("session");
    if (kept) return kept;
    const made = randomHex(6);
    sessionStorage.setItem("session", made);
    return made;
  } catch {
    return randomHex(6);
  }
}
const session = sessionName();

async function ask(path, options) {
  const answer = await fetch(path, { ...options, headers: { "x-noiseproof-token": token, "content-type": "application/json" } });
  if (!answer.ok) {
    const problem = new Error((await answer.text()).trim() || answer.statusText);
    problem.status = answer.status;
    throw problem;
  }
  return answer.json();
}

const outbox = { waiting: [], sending: false, confirmed: 0, failed: false, onSaved: () => {} };
const AT_ONCE = 2000;

function send(decisions) {
  for (const decision of decisions) outbox.waiting.push(decision);
  tellSaved();
  flushOutbox();
}

async function flushOutbox() {
  if (outbox.sending || !outbox.waiting.length) return;
  outbox.sending = true;
  const part = outbox.waiting.slice(0, AT_ONCE);
  try {
    const answer = await ask("/api/decide", { method: "POST", body: JSON.stringify({ session, decisions: part }) });
    outbox.waiting.splice(0, part.length);
    outbox.confirmed += part.length;
    outbox.failed = false;
    show("error", "");
    outbox.onSaved(answer.saved);
  } catch (problem) {
    outbox.failed = true;
    const why = problem.status ? problem.message : "the server does not answer; start it again with noiseproof labels review";
    show("error", `${counted(outbox.waiting.length, "decision is", "decisions are")} not saved: ${why}`);
    if (problem.status === 400) outbox.waiting.splice(0, part.length);
  }
  outbox.sending = false;
  tellSaved();
  if (outbox.waiting.length) setTimeout(flushOutbox, outbox.failed ? 2000 : 0);
}

// What failed besides; that decisions are not saved is more important and stays.
function tellProblem(text) {
  if (!outbox.failed) show("error", text);
}

function tellSaved() {
  const waiting = outbox.waiting.length;
  const words = outbox.failed ? "Not saved" : waiting ? `Saving ${waiting.toLocaleString("en")}…` : "Saved";
  const place = byId("saved");
  place.textContent = words;
  place.className = `saved ${outbox.failed ? "bad" : waiting ? "busy" : "good"}`;
  place.dataset.confirmed = outbox.confirmed;
}

addEventListener("beforeunload", (event) => {
  if (outbox.waiting.length) event.preventDefault();
});

addEventListener("pagehide", () => {
  ask("/api/leave", { method: "POST", keepalive: true, body: JSON.stringify({ session }) }).catch(() => {});
});
