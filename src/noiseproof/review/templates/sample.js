// The sample under review.

const details = new Map(); // number -> promise
const MAX_DETAILS = 60;
let relatedTimer = 0;

function detail(number) {
  if (!details.has(number)) {
    const promise = ask(`/api/sample/${number}`);
    promise.catch(() => details.delete(number));
    details.set(number, promise);
    if (details.size > MAX_DETAILS) details.delete(details.keys().next().value);
  }
  return details.get(number);
}

function prefetch() {
  const position = positionOf(current);
  for (const place of visible.slice(position + 1, position + 4)) detail(all.number[place]);
}

function arrow(given, suggested) {
  return [isolated(className(given), "given"), make("span", { class: "arrow", role: "img", "aria-label": "suggested" }, " → "), isolated(className(suggested), "suggested")];
}

function drawHead() {
  const place = current;
  const suggested = hasSuggestion(place);
  const suggestionChance = suggested ? (all.suggestionChance?.[place] ?? null) : null;
  byId("labels").replaceChildren(
    make("span", { class: "faint" }, "given "), isolated(className(all.given[place]), "given"),
    ...(suggested
      ? [make("span", { class: "arrow", "aria-hidden": "true" }, "→"), make("span", { class: "faint" }, "suggested "), isolated(className(all.suggested[place]), "suggested")]
      : [make("span", { class: "faint" }, "no other label is suggested")]),
  );
  byId("chance").replaceChildren(
    "wrong with probability ", make("strong", {}, percent(all.chance[place])),
    ...(suggestionChance === null ? [] : [", suggestion right with ", make("strong", {}, percent(suggestionChance))]),
    make("span", { class: "faint" }, ` · sample ${all.number[place]} · ${(positionOf(place) + 1).toLocaleString("en")} of ${visible.length.toLocaleString("en")}`),
  );
  byId("accept").disabled = !suggested;
  byId("accept-words").replaceChildren("Accept ", suggested ? isolated(className(all.suggested[place])) : "");
  drawState();
}

function decisionText(state) {
  const label = state.decision === "relabel" ? [" to ", isolated(className(state.label ?? -1))] : [];
  return [DONE[state.decision], ...label];
}

function drawState() {
  const state = current < 0 ? null : stateOf(current);
  const element = byId("state");
  element.className = `state ${state ? state.decision : ""}`;
  if (!state) {
    element.replaceChildren();
  } else if (state.conflict) {
    element.className += " conflict";
    element.replaceChildren("Conflict: ", ...decisionText(state), ` by ${state.by || "you"}, `, ...decisionText(state.conflict), ` by ${state.conflict.by || "another reviewer"}, who had not seen it. The later decision applies; decide again to resolve the conflict.`);
  } else {
    element.replaceChildren("Decided: ", ...decisionText(state), state.session !== session && state.by ? ` by ${state.by}` : "");
  }
}

function picture(found, big) {
  const [width, height] = found.size;
  const side = Math.max(width, height);
  const name = `Sample ${found.number}, given as ${className(found.given)}`;
  const image = make("img", { src: found.image, alt: name, class: side < 200 ? "pixels" : "" });
  if (big) {
    const scale = side < 200 ? Math.max(1, Math.round(352 / side)) : 1;
    image.style.width = `${Math.min(width * scale, 640)}px`;
  }
  return image;
}

function drawLook(found) {
  const parts = [];
  if (found.image) parts.push(make("div", { class: "picture" }, picture(found, true)));
  if (found.why) parts.push(make("p", { class: "faint" }, isolated(`No picture: ${found.why}`)));
  for (const [name, text] of found.texts || []) {
    parts.push(make("section", { class: "text" }, make("h3", {}, isolated(name)), make("p", { class: "prose", dir: "auto" }, text)));
  }
  if (found.cells && found.cells.length) parts.push(rowTable(found));
  if (found.file) parts.push(make("p", { class: "file" }, isolated(found.file)));
  if (!parts.length) parts.push(make("p", { class: "faint" }, all.whyNoInputs || "There are no inputs to show for this sample."));
  byId("look").replaceChildren(...parts);
}

function rowTable(found) {
  const suggested = found.suggested >= 0 && found.suggested !== found.given;
  const heads = [make("th", { scope: "col" }, "column"), make("th", { scope: "col" }, "this row"), make("th", { scope: "col" }, "usual in ", isolated(className(found.given), "given"))];
  if (suggested) heads.push(make("th", { scope: "col" }, "usual in ", isolated(className(found.suggested), "suggested")));
  const rows = found.cells.map(([name, value, ours, theirs, tells]) => {
    const cells = [make("th", { scope: "row" }, isolated(name)), make("td", { class: "value" }, isolated(value)), make("td", {}, isolated(ours))];
    if (suggested) cells.push(make("td", {}, isolated(theirs)));
    return make("tr", tells && suggested ? { class: "tells" } : {}, ...cells);
  });
  const more = found.moreColumns ? make("p", { class: "faint" }, `and ${counted(found.moreColumns, "more column")}`) : null;
  const note = suggested ? make("p", { class: "faint" }, "Columns are sorted by how much they support the suggested label; clear evidence is marked.") : null;
  return make("div", { class: "row" }, make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows)), more, note);
}

function drawMargin(found) {
  const element = byId("margin");
  if (!found.spark) return element.replaceChildren();
  const line = make("svg", { class: "spark", viewBox: "-2 -2 104 28", preserveAspectRatio: "none", role: "img", "aria-label": `Margin of the given label over ${found.epochs} epochs; the line at half height is zero` }, make("path", { d: "M0 12H100" }), make("polyline", { points: found.spark }));
  const words = make("p", { class: "faint" }, `Margin of the given label over epochs 1 to ${found.epochs} (±${found.limit.toFixed(1)}). Below the dashed line its probability was under 50%.`);
  return element.replaceChildren(line, words);
}

function card(found) {
  const label = isolated(className(found.given), "label");
  const look = found.image ? picture(found, false) : make("p", { class: "brief" }, isolated(found.brief || `sample ${found.number}`));
  const words = make("span", {}, label, found.suspect ? make("span", { class: "faint" }, " suspect") : null);
  return make("li", { title: `Sample ${found.number}` }, ...(found.image ? [look, words] : [words, look]));
}

function group(title, cards) {
  if (!cards.length) return null;
  return make("section", {}, make("h3", {}, ...title), make("ul", { class: "cards" }, ...cards.map(card)));
}

function drawRelated(found) {
  byId("related").replaceChildren(
    ...[
      group(["Nearest samples"], found.nearest),
      group(["Typical ", isolated(className(all.given[current]), "given")], found.typicalGiven),
      hasSuggestion(current) ? group(["Typical ", isolated(className(all.suggested[current]), "suggested")], found.typicalSuggested) : null,
    ].filter((part) => part),
  );
}

function nothingLeft() {
  const isDone = all.number.every((_, place) => stateOf(place));
  return isDone ? "All suspects are decided. Correct the data with: noiseproof labels apply" : "No suspect matches these filters.";
}

async function drawSample() {
  const empty = current < 0;
  byId("sample").classList.toggle("empty", empty);
  byId("actions").hidden = empty;
  clearTimeout(relatedTimer);
  if (empty) {
    byId("labels").replaceChildren(all.number.length ? (visible.length ? "" : nothingLeft()) : "No label is suspected.");
    for (const id of ["chance", "state", "look", "margin", "related"]) byId(id).replaceChildren();
    return;
  }
  drawHead();
  const number = all.number[current];
  let found;
  try {
    found = await detail(number);
  } catch (problem) {
    tellProblem(problem.status ? problem.message : "The server does not answer.");
    return;
  }
  if (current < 0 || all.number[current] !== number) return;
  drawLook(found);
  drawMargin(found);
  byId("sample").dataset.drawn = number;
  prefetch();
  byId("related").replaceChildren();
  relatedTimer = setTimeout(async () => {
    const related = await ask(`/api/related/${number}?class=${all.suggested[current]}`).catch(() => null);
    if (related && current >= 0 && all.number[current] === number) drawRelated(related);
  }, 200);
}
