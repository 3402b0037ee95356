// DOM elements and formatted text. Text of the user's data becomes text nodes, never markup.

const byId = (id) => document.getElementById(id);

function make(tag, properties, ...children) {
  const svg = ["svg", "path", "polyline"].includes(tag);
  const found = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (name.startsWith("on")) found.addEventListener(name.slice(2), value);
    else if (value === true) found.setAttribute(name, "");
    else if (value !== false && value != null) found.setAttribute(name, value);
  }
  found.append(...children.filter((child) => child != null));
  return found;
}

const isolated = (text, kind) => make("bdi", kind ? { class: kind } : {}, text);
const counted = (number, noun, plural) => `${number.toLocaleString("en")} ${number === 1 ? noun : plural || noun + "s"}`;

function percent(share) {
  if (share > 0 && share < 0.005) return "<1%";
  if (share < 1 && share >= 0.995) return ">99%";
  return `${Math.round(100 * share)}%`;
}

function percentFine(share) {
  return share > 0 && share < 0.0005 ? "<0.1%" : `${(100 * share).toFixed(1)}%`;
}

function say(text) {
  byId("spoken").textContent = text;
}

function show(id, text) {
  const element = byId(id);
  element.textContent = text;
  element.hidden = !text;
}

const DONE = { keep: "kept", relabel: "relabelled", drop: "dropped", unsure: "unsure" };
const MARK = { keep: "✓", relabel: "→", drop: "✕", unsure: "?" };
