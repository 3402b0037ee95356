// Class pairs: many suspects of the same confusion decided at once.

const BATCH = 24;
const MAX_PAIRS = 200;
let opened = null; // {given, suggested, places, shown, picked}

function pairList() {
  const found = new Map();
  for (let place = 0; place < all.number.length; place += 1) {
    const key = `${all.given[place]} ${all.suggested[place]}`;
    let pair = found.get(key);
    if (!pair) found.set(key, (pair = { given: all.given[place], suggested: all.suggested[place], total: 0, left: 0, sum: 0 }));
    pair.total += 1;
    pair.left += stateOf(place) ? 0 : 1;
    pair.sum += all.chance[place];
  }
  return [...found.values()].sort((a, b) => b.left - a.left || b.total - a.total);
}

function drawPairs() {
  const element = byId("pairs");
  if (opened) return drawPair();
  const pairs = pairList();
  const rows = pairs.slice(0, MAX_PAIRS).map((pair) =>
    make("tr", {},
      make("th", { scope: "row" }, make("button", { type: "button", class: "link", onclick: () => openPair(pair) }, ...arrow(pair.given, pair.suggested === pair.given ? -1 : pair.suggested))),
      make("td", {}, pair.left.toLocaleString("en")), make("td", {}, pair.total.toLocaleString("en")), make("td", {}, percent(pair.sum / pair.total))));
  const heads = ["given → suggested", "not decided", "suspects", "mean probability of being wrong"];
  element.replaceChildren(
    make("h2", {}, counted(pairs.length, "class pair")),
    make("p", { class: "faint" }, "Open a pair to review its suspects side by side and to decide about many at once."),
    make("table", { class: "pairtable" }, make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))), make("tbody", {}, ...rows)),
    pairs.length > MAX_PAIRS ? make("p", { class: "faint" }, `and ${counted(pairs.length - MAX_PAIRS, "rarer pair")}`) : "",
  );
  return undefined;
}

function openPair(pair) {
  const places = [];
  for (let place = 0; place < all.number.length; place += 1) {
    if (all.given[place] === pair.given && all.suggested[place] === pair.suggested && !stateOf(place)) places.push(place);
  }
  opened = { ...pair, places, shown: Math.min(BATCH, places.length), picked: new Set(places) };
  drawPairs();
  byId("pairs").focus();
}

function closePair() {
  opened = null;
  drawPairs();
  byId("pairs").focus();
}

function tile(place) {
  const box = make("input", { type: "checkbox", checked: opened.picked.has(place), onchange: (event) => {
    if (event.target.checked) opened.picked.add(place);
    else opened.picked.delete(place);
    drawPicked();
  } });
  const look = make("span", { class: "tile-look" }, "…");
  detail(all.number[place]).then((found) => {
    const text = found.texts && found.texts.length ? found.texts[0][1] : (found.cells || []).slice(0, 4).map(([name, value]) => `${name} ${value}`).join(", ");
    look.replaceChildren(found.image ? picture(found, false) : make("span", { class: "brief" }, isolated(text.slice(0, 160) || `sample ${found.number}`)));
  }, () => look.replaceChildren("no picture"));
  return make("li", {}, make("label", {}, look, make("span", { class: "tile-words" }, box, ` ${all.number[place]} · ${percent(all.chance[place])}`)));
}

function drawPair() {
  const pair = opened;
  const suggested = pair.suggested >= 0 && pair.suggested !== pair.given;
  const button = (words, kind, main) => make("button", { type: "button", class: main ? "main" : "", "data-many": kind, onclick: () => decideMany(kind) }, ...words);
  const tiles = make("ul", { class: "tiles" }, ...pair.places.slice(0, pair.shown).map(tile));
  byId("pairs").replaceChildren(
    make("p", {}, make("button", { type: "button", class: "quiet", onclick: closePair }, "← All pairs"), " ",
      make("button", { type: "button", class: "quiet", onclick: () => onlyPair(pair) }, "Review one by one")),
    make("h2", {}, ...arrow(pair.given, suggested ? pair.suggested : -1)),
    make("p", { id: "picked", role: "status" }),
    make("div", { class: "actions many" },
      suggested ? button(["Accept ", isolated(className(pair.suggested))], "relabel", true) : null,
      button(["Keep ", isolated(className(pair.given))], "keep"), button(["Drop"], "drop"), button(["Unsure"], "unsure"),
      make("button", { type: "button", class: "quiet", onclick: pickAll }, "Tick all"), make("button", { type: "button", class: "quiet", onclick: pickNone }, "Tick none")),
    tiles,
    pair.shown < pair.places.length ? make("button", { type: "button", onclick: () => { pair.shown = Math.min(pair.places.length, pair.shown + BATCH); drawPair(); } }, `Show ${Math.min(BATCH, pair.places.length - pair.shown)} more`) : "",
  );
  drawPicked();
}

function pickAll() {
  opened.picked = new Set(opened.places);
  drawPair();
}

function pickNone() {
  opened.picked = new Set();
  drawPair();
}

function drawPicked() {
  const { picked, places, shown } = opened;
  const unseen = places.slice(shown).filter((place) => picked.has(place)).length;
  byId("picked").textContent = places.length
    ? `${picked.size.toLocaleString("en")} of ${counted(places.length, "suspect")} ticked${unseen ? `, ${unseen.toLocaleString("en")} of them not shown yet` : ""}.`
    : "All suspects of this pair are decided.";
  for (const button of document.querySelectorAll("[data-many]")) button.disabled = !picked.size;
}

async function decideMany(kind) {
  const places = opened.places.filter((place) => opened.picked.has(place));
  const unseen = opened.places.slice(opened.shown).filter((place) => opened.picked.has(place)).length;
  if (unseen && !(await confirmed(`Decide about ${counted(places.length, "sample")}, ${unseen.toLocaleString("en")} of which you have not seen?`))) return;
  decide(places, kind, opened.suggested);
  countPace(places.length);
  say(`${counted(places.length, "sample")} ${DONE[kind]}`);
  const left = opened.places.filter((place) => !stateOf(place));
  opened = { ...opened, places: left, shown: Math.min(BATCH, left.length), picked: new Set(left) };
  changed();
  drawPairs();
}

function confirmed(words) {
  const dialog = byId("ask");
  byId("ask-words").textContent = words;
  dialog.showModal();
  return new Promise((answer) => {
    const end = (value) => () => { dialog.close(); answer(value); };
    byId("ask-yes").onclick = end(true);
    byId("ask-no").onclick = end(false);
    dialog.oncancel = end(false);
  });
}
