// Progress and speed of the review, and the expected number of wrong labels left.

const moments = []; // [time, decisions] of this page
const SPAN = 5 * 60 * 1000;

function countPace(number) {
  moments.push([Date.now(), number]);
}

function pace() {
  const now = Date.now();
  while (moments.length && now - moments[0][0] > SPAN) moments.shift();
  const made = moments.slice(1).reduce((sum, [, number]) => sum + number, 0);
  const minutes = moments.length > 1 ? (now - moments[0][0]) / 60000 : 0;
  return made >= 5 && minutes > 0.05 ? made / minutes : 0;
}

function drawProgress() {
  let decided = 0;
  let dropped = 0;
  let conflicts = 0;
  let wrong = all.restWrong;
  for (let place = 0; place < all.number.length; place += 1) {
    const state = stateOf(place);
    if (state) decided += 1;
    if (state && state.decision === "drop") dropped += 1;
    if (state && state.conflict) conflicts += 1;
    if (!state || state.decision === "unsure") wrong += all.chance[place];
  }
  const total = all.number.length;
  const left = total - decided;
  const speed = pace();
  byId("bar").max = Math.max(1, total);
  byId("bar").value = decided;
  const words = [`${decided.toLocaleString("en")} of ${counted(total, "suspect")} decided`];
  if (speed) words.push(`${Math.round(speed)} a minute`);
  if (speed && left) words.push(`${left > speed * 90 ? `${(left / speed / 60).toFixed(1)} h` : `${Math.max(1, Math.round(left / speed))} min`} to go`);
  words.push(`about ${percentFine(wrong / Math.max(1, all.samples - dropped))} of all labels still wrong`);
  byId("progress").textContent = words.join(" · ");
  byId("progress").title = all.calibrated ? "Sum of the probabilities of labels without a decision" : "Rough estimate from the scores of labels without a decision";
  return conflicts;
}

function drawNotice(conflicts, { pages, elsewhere, servers }) {
  const words = [];
  if (all.weak) words.push(all.weak);
  if (pages) words.push(`${counted(pages, "other tab is", "other tabs are")} open on this review.`);
  if (servers.length) words.push(`${servers.join(", ")} ${servers.length === 1 ? "has" : "have"} the same labels open, served by another process.`);
  if (elsewhere.length) words.push(`${elsewhere.join(", ")} made decisions elsewhere about the same labels.`);
  if (pages || servers.length || elsewhere.length) words.push("Decisions are merged; the later one applies.");
  if (conflicts) words.push(`${counted(conflicts, "conflict")}: choose “conflicts” under Show.`);
  if (byId("notice").textContent !== words.join(" ")) show("notice", words.join(" "));
}
