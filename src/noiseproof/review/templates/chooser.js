// Choosing a class by typing a part of its name.

const MAX_CHOICES = 50;
const chooser = { matches: [], at: 0, done: () => {} };

function openChooser(done) {
  chooser.done = done;
  byId("chooser-search").value = "";
  searchClasses();
  byId("chooser").showModal();
  byId("chooser-search").focus();
}

// Names that begin with the words first, then those that contain them.
function searchClasses() {
  const words = byId("chooser-search").value.trim().toLowerCase();
  const ranked = [];
  all.classes.forEach((name, label) => {
    const at = name.toLowerCase().indexOf(words);
    if (at >= 0) ranked.push([at ? 1 : 0, label]);
  });
  ranked.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  chooser.matches = ranked.map(([, label]) => label);
  chooser.at = 0;
  drawChoices();
}

function drawChoices() {
  const few = chooser.matches.slice(0, MAX_CHOICES);
  const rows = few.map((label, at) => make("li", { role: "option", id: `choice-${at}`, "aria-selected": String(at === chooser.at), onclick: () => takeChoice(label) }, isolated(className(label))));
  if (chooser.matches.length > few.length) rows.push(make("li", { class: "faint", role: "presentation" }, `and ${chooser.matches.length - few.length} more: type to narrow down`));
  if (!few.length) rows.push(make("li", { class: "faint", role: "presentation" }, "No class name contains this text."));
  byId("chooser-list").replaceChildren(...rows);
  byId("chooser-search").setAttribute("aria-activedescendant", few.length ? `choice-${chooser.at}` : "");
  const row = byId(`choice-${chooser.at}`);
  if (row) row.scrollIntoView({ block: "nearest" });
}

function takeChoice(label) {
  byId("chooser").close();
  chooser.done(label);
}

function chooserKey(event) {
  const few = Math.min(MAX_CHOICES, chooser.matches.length);
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const step = event.key === "ArrowDown" ? 1 : -1;
    chooser.at = few ? (chooser.at + step + few) % few : 0;
    drawChoices();
    event.preventDefault();
  } else if (event.key === "Enter") {
    event.preventDefault();
    if (few) takeChoice(chooser.matches[chooser.at]);
  }
}
