// What the buttons and keys do.

let updates = { count: 0, pages: 0, elsewhere: [], servers: [] };
const who = ({ pages, elsewhere, servers }) => JSON.stringify([pages, elsewhere, servers]);
let view = "one";

function changed() {
  refilter();
  drawFound();
  drawList();
  drawNotice(drawProgress(), updates);
}

function goTo(place) {
  current = place;
  drawSample();
  if (place >= 0) showInList(place);
  else drawList();
}

function step(by) {
  const position = positionOf(current) + by;
  if (position >= 0 && position < visible.length) goTo(visible[position]);
}

// After a decision: go to the next suspect that still matches the filters.
function decideCurrent(kind, label) {
  if (current < 0) return;
  const place = current;
  decide([place], kind, label);
  countPace(1);
  say(`Sample ${all.number[place]} ${DONE[kind]}${kind === "relabel" ? ` to ${className(label)}` : ""}`);
  const stays = passes(place);
  changed();
  const position = positionOf(place) + (stays ? 1 : 0);
  if (position < visible.length) goTo(visible[position]);
  else if (stays) goTo(place);
  else goTo(visible.length ? visible[visible.length - 1] : -1);
}

const ACTIONS = {
  keep: () => decideCurrent("keep"),
  accept: () => current >= 0 && hasSuggestion(current) && decideCurrent("relabel", all.suggested[current]),
  choose: () => current >= 0 && openChooser((label) => (label === all.given[current] ? decideCurrent("keep") : decideCurrent("relabel", label))),
  drop: () => decideCurrent("drop"),
  unsure: () => decideCurrent("unsure"),
  undo: () => {
    const place = undo();
    if (place < 0) return say("There is nothing to undo.");
    say("Undone.");
    changed();
    if (view === "pairs") { opened = null; drawPairs(); }
    return goTo(passes(place) ? place : visible.length ? visible[Math.min(positionOf(place), visible.length - 1)] : -1);
  },
  next: () => step(1),
  previous: () => step(-1),
};

function showView(name) {
  view = name;
  byId("view-one").setAttribute("aria-pressed", name === "one");
  byId("view-pairs").setAttribute("aria-pressed", name === "pairs");
  byId("layout").dataset.view = name;
  byId("pairs").hidden = name !== "pairs";
  if (name === "pairs") { opened = null; drawPairs(); }
  else { changed(); goTo(current >= 0 && passes(current) ? current : visible.length ? visible[0] : -1); }
}

function onlyPair(pair) {
  setFilter({ pair: [pair.given, pair.suggested], state: "todo" });
  byId("filter-state").value = "todo";
  byId("filter-pair").replaceChildren(...arrow(pair.given, pair.suggested), make("span", { "aria-label": "remove this filter" }, " ✕"));
  byId("filter-pair").hidden = false;
  showView("one");
}

function filtersChanged() {
  const share = (id, other) => (byId(id).value === "" ? other : Math.min(1, Math.max(0, Number(byId(id).value) / 100)));
  setFilter({ state: byId("filter-state").value, words: byId("filter-class").value, from: share("filter-from", 0), to: share("filter-to", 1) });
  byId("list").scrollTop = 0;
  changed();
  goTo(current >= 0 && passes(current) ? current : visible.length ? visible[0] : -1);
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "checkbox";
  if (typing) return;
  if (event.target.id === "list" && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    event.preventDefault();
    step(event.key === "ArrowDown" ? 1 : -1);
    return;
  }
  if (event.key === "?") { byId("help").showModal(); event.preventDefault(); return; }
  if (!byId("keys-on").checked || event.repeat) return;
  const button = document.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
  if (!button || button.disabled || (view === "pairs" && button.id !== "undo")) return;
  event.preventDefault();
  ACTIONS[button.id]();
}

async function pollUpdates() {
  try {
    const found = await ask(`/api/updates?session=${session}&after=${updates.count}`);
    const changedHere = adopt(found.states);
    const different = who(found) !== who(updates);
    updates = found;
    tellProblem("");
    if (changedHere) { changed(); drawState(); if (current < 0 && visible.length) goTo(visible[0]); }
    else if (different) drawNotice(drawProgress(), updates);
  } catch (problem) {
    tellProblem(problem.status ? problem.message : "The server does not answer. Start it again with noiseproof labels review, and open the address it shows.");
  }
  setTimeout(pollUpdates, 2000);
}

async function begin() {
  try {
    const found = await ask(`/api/start?session=${session}`);
    Object.assign(all, found);
    all.place = new Map(all.number.map((number, place) => [number, place]));
    updates = found;
    adopt(found.states);
  } catch (problem) {
    show("saved", "");
    show("error", problem.status ? problem.message : "The server does not answer.");
    return;
  }
  byId("name").textContent = all.name;
  document.title = `${all.name} · review labels`;
  rememberHistory();
  outbox.onSaved = (saved) => {
    if (adopt(saved)) { drawList(); drawState(); drawNotice(drawProgress(), updates); }
  };
  countPace(0);
  tellSaved();
  refilter();
  changed();
  goTo(visible.length ? visible[0] : -1);
  setTimeout(pollUpdates, 2000);
  setInterval(() => drawNotice(drawProgress(), updates), 15000);
}

for (const id of Object.keys(ACTIONS)) byId(id).addEventListener("click", ACTIONS[id]);
byId("list").addEventListener("scroll", drawList, { passive: true });
byId("filters").addEventListener("input", filtersChanged);
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("filter-pair").addEventListener("click", () => { byId("filter-pair").hidden = true; filter.pair = null; filtersChanged(); });
byId("view-one").addEventListener("click", () => showView("one"));
byId("view-pairs").addEventListener("click", () => showView("pairs"));
byId("open-help").addEventListener("click", () => byId("help").showModal());
byId("help-close").addEventListener("click", () => byId("help").close());
byId("chooser-search").addEventListener("input", searchClasses);
byId("chooser-search").addEventListener("keydown", chooserKey);
addEventListener("keydown", onKey);
addEventListener("resize", drawList);
begin();
