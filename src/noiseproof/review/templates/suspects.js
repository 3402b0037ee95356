// All suspects in columns, the decisions about them, and the suspects that match the filters.

const all = { number: [], given: [], suggested: [], chance: [], classes: [], place: new Map(), samples: 0 };
const states = new Map(); // sample number -> current state
const filter = { state: "todo", words: "", from: 0, to: 1, pair: null };
let visible = []; // places in the columns, in order
let current = -1; // a place in the columns
const history = []; // decisions of this page, each a list of {sample, id}

const className = (label) => (label < 0 || label >= all.classes.length ? "?" : all.classes[label]);
const stateOf = (place) => states.get(all.number[place]);
const hasSuggestion = (place) => all.suggested[place] >= 0 && all.suggested[place] !== all.given[place];

function passes(place) {
  const state = stateOf(place);
  const wanted = filter.state;
  if (wanted === "todo" && state) return false;
  if (wanted === "done" && !state) return false;
  if (wanted === "conflict" && !(state && state.conflict)) return false;
  if (DONE[wanted] && !(state && state.decision === wanted)) return false;
  const chance = all.chance[place];
  if (chance < filter.from || chance > filter.to) return false;
  if (filter.pair && (all.given[place] !== filter.pair[0] || all.suggested[place] !== filter.pair[1])) return false;
  if (filter.classes && !filter.classes.has(all.given[place]) && !filter.classes.has(all.suggested[place])) return false;
  return true;
}

function setFilter(changes) {
  Object.assign(filter, changes);
  const words = filter.words.trim().toLowerCase();
  filter.classes = null;
  if (words) {
    filter.classes = new Set();
    all.classes.forEach((name, label) => name.toLowerCase().includes(words) && filter.classes.add(label));
  }
  refilter();
}

function refilter() {
  visible = [];
  for (let place = 0; place < all.number.length; place += 1) if (passes(place)) visible.push(place);
}

// The place in `visible` of a place in the columns, or of the first one after it.
function positionOf(place) {
  let low = 0;
  let high = visible.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (visible[middle] < place) low = middle + 1;
    else high = middle;
  }
  return low;
}

function adopt(updates) {
  const mine = new Set(outbox.waiting.map((decision) => decision.sample));
  let changed = 0;
  for (const state of updates) {
    if (mine.has(state.sample)) continue;
    const before = states.get(state.sample);
    const same = before ? before.id === state.id && !before.conflict === !state.conflict : !state.decision;
    if (same) continue;
    if (state.decision) states.set(state.sample, state);
    else states.delete(state.sample);
    changed += 1;
  }
  return changed;
}

// Decide about places; `kind` and `label` may be functions of the place.
function decide(places, kind, label) {
  const made = places.map((place) => {
    const sample = all.number[place];
    const before = states.get(sample);
    const entry = { sample, decision: kind, id: randomHex(6), seen: before ? before.id : null };
    if (kind === "relabel") entry.label = typeof label === "function" ? label(place) : label;
    states.set(sample, { sample, decision: kind, label: entry.label, id: entry.id, session, before });
    return entry;
  });
  history.push(made.map((entry) => ({ sample: entry.sample, id: entry.id })));
  send(made);
  return made;
}

// Undo the last decision; returns the place of its sample, or -1.
function undo() {
  const last = history.pop();
  if (!last) return -1;
  const made = [];
  for (const { sample, id } of last) {
    const now = states.get(sample);
    made.push({ sample, decision: "undo", id: randomHex(6), seen: id });
    if (!now || now.id !== id) continue;
    if (now.before) states.set(sample, now.before);
    else states.delete(sample);
  }
  send(made);
  return all.place.get(last[0].sample) ?? -1;
}

// After a reload the decisions of this page can still be undone, one by one.
function rememberHistory() {
  const own = [...states.values()].filter((state) => state.session === session);
  own.sort((a, b) => (a.time < b.time ? -1 : 1));
  for (const { sample, id } of own) history.push([{ sample, id }]);
}
