// Requests to the server. A decision counts as saved when the server has confirmed it.

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

// Show an error, unless the message about unsaved decisions is shown, which is more important.
function tellProblem(text) {
  if (!outbox.failed) show("error", text);
}

function tellSaved() {
  const waiting = outbox.waiting.length;
  const words = outbox.failed ? "Not saved" : waiting ? `Saving ${waiting.toLocaleString("en")}…` : "Saved";
  const element = byId("saved");
  element.textContent = words;
  element.className = `saved ${outbox.failed ? "bad" : waiting ? "busy" : "good"}`;
  element.dataset.confirmed = outbox.confirmed;
}

addEventListener("beforeunload", (event) => {
  if (outbox.waiting.length) event.preventDefault();
});

addEventListener("pagehide", () => {
  ask("/api/leave", { method: "POST", keepalive: true, body: JSON.stringify({ session }) }).catch(() => {});
});
