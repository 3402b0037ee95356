// The list of suspects: only the visible rows are DOM elements.

const ROW = 46;
const drawnRows = new Map();
let listFrame = 0;

function drawList() {
  cancelAnimationFrame(listFrame);
  listFrame = requestAnimationFrame(drawListNow);
}

function drawListNow() {
  const list = byId("list");
  const rows = byId("rows");
  rows.style.height = `${visible.length * ROW}px`;
  const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 4);
  const last = Math.min(visible.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + 4);
  const wanted = new Set();
  for (let position = first; position < last; position += 1) {
    const place = visible[position];
    wanted.add(place);
    let row = drawnRows.get(place);
    if (!row) {
      row = make("div", { role: "option", id: `row-${place}`, onclick: () => goTo(place) });
      drawnRows.set(place, row);
      rows.append(row);
    }
    fillRow(row, place, position);
  }
  for (const [place, row] of drawnRows) {
    if (!wanted.has(place)) {
      row.remove();
      drawnRows.delete(place);
    }
  }
  list.setAttribute("aria-activedescendant", wanted.has(current) ? `row-${current}` : "");
}

function fillRow(row, place, position) {
  const state = stateOf(place);
  row.style.transform = `translateY(${position * ROW}px)`;
  row.setAttribute("aria-posinset", position + 1);
  row.setAttribute("aria-setsize", visible.length);
  row.setAttribute("aria-selected", place === current);
  const key = `${state ? state.id : ""}${state && state.conflict ? "!" : ""}`;
  if (row.dataset.key === key) return;
  row.dataset.key = key;
  const mark = state ? (state.conflict ? "!" : MARK[state.decision]) : "";
  row.replaceChildren(
    make("span", { class: `mark ${state ? (state.conflict ? "conflict" : state.decision) : ""}`, "aria-label": state ? DONE[state.decision] : "not decided", role: "img" }, mark),
    make("span", { class: "pair" }, ...arrow(all.given[place], hasSuggestion(place) ? all.suggested[place] : -1)),
    make("span", { class: "share" }, percent(all.chance[place])),
  );
}

function showInList(place) {
  const list = byId("list");
  const top = positionOf(place) * ROW;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
  drawList();
}

function drawFound() {
  const decided = visible.length === all.number.length ? "" : ` of ${all.number.length.toLocaleString("en")}`;
  byId("found").textContent = `${visible.length.toLocaleString("en")}${decided} ${all.number.length === 1 ? "suspect" : "suspects"}`;
}
