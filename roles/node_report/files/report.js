"use strict";
// Texts come from nodes: they are set as textContent only, and never read as HTML.
async function unpacked() {
  const packed = Uint8Array.from(atob(document.getElementById("data").textContent), (char) => char.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

function show(data) {
  const STATUSES = ["fail", "unknown", "waived", "pass", "skip"];
  const ROW = 26;
  const SPARE = 3;
  const [CHECK, STATUS, SEVERITY, SUBJECT, PROBLEM, OBSERVED, EXPECTED, REASON, REMEDIATION, WAIVER, OUTCOME,
    EVIDENCE] = Array(12).keys();
  // What a filter asks of each of 300,000 findings.
  const [checkAt, statusAt, severityAt] = [CHECK, STATUS, SEVERITY].map(
    (column) => Uint16Array.from(data.findings, (finding) => finding[column]));
  const text = (finding, column) => data.texts[finding[column]];
  const byId = (id) => document.getElementById(id);
  const shown = { hosts: [], checks: [], matches: null, first: -1, last: -1 };
  let active = null;
  let opener = null;

  function node(name, content, attributes) {
    const made = document.createElement(name);
    if (content !== undefined) made.textContent = content;
    for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
    return made;
  }

  // Which findings have a word. Most texts are those of many findings, so the texts are searched.
  let lower;
  function having(word) {
    lower = lower || data.texts.map((each) => each.toLowerCase());
    const texts = lower.map((each) => each.includes(word));
    const checks = data.checks.map((check) => `${check.id} ${check.title}`.toLowerCase().includes(word));
    return data.findings.map((finding) => {
      if (checks[finding[CHECK]]) return true;
      for (let column = SUBJECT; column < EVIDENCE; column += 1) if (texts[finding[column]]) return true;
      return false;
    });
  }

  function filter() {
    performance.mark("filter-begins");
    const asked = byId("text").value.toLowerCase().split(/\s+/).filter((word) => word && word !== "-");
    const wanted = asked.filter((word) => !word.startsWith("-"));
    const excluded = asked.filter((word) => word.startsWith("-")).map((word) => word.slice(1));
    const checks = byId("check").value.toUpperCase().split(/[\s,]+/).filter(Boolean);
    const statuses = new Set([...document.querySelectorAll("#statuses input:checked")].map((box) => Number(box.value)));
    const severity = Number(byId("severity").value);
    const group = byId("group").value;
    const ofCheck = data.checks.map((check) => !checks.length || checks.some((part) => check.id.startsWith(part)));
    const matches = new Uint8Array(data.findings.length);
    for (let index = 0; index < matches.length; index += 1) {
      matches[index] = ofCheck[checkAt[index]] && statuses.has(statusAt[index]) && severityAt[index] >= severity;
    }
    const found = new Map([...wanted, ...excluded].map((word) => [word, having(word)]));
    const columns = new Uint8Array(data.checks.length);
    const narrowed = wanted.length || excluded.length || checks.length || severity > 0 || statuses.size < STATUSES.length;
    let findings = 0;
    shown.hosts = data.hosts.filter((host) => {
      if (group && !host.groups.includes(group)) return false;
      const name = host.name.toLowerCase();
      if (excluded.some((word) => name.includes(word))) return false;
      const rest = wanted.filter((word) => !name.includes(word));
      host.score = [0, 0, 0, 0, 0];
      host.worst = -1;
      host.matching = host.findings.filter((index) => matches[index]
        && (!rest.length || rest.every((word) => found.get(word)[index]))
        && (!excluded.length || !excluded.some((word) => found.get(word)[index])));
      for (const index of host.matching) {
        columns[checkAt[index]] = 1;
        host.score[statusAt[index]] += 1;
        if (!statusAt[index] && severityAt[index] > host.worst) host.worst = severityAt[index];
      }
      findings += host.matching.length;
      return host.matching.length || (host.status !== "assessed" && !rest.length) || !narrowed;
    });
    const byName = (one, other) => one.rank - other.rank;
    const lost = (host) => (host.status === "assessed" ? 0 : 1);
    const byWorst = (one, other) => lost(other) - lost(one) || other.worst - one.worst
      || other.score[0] - one.score[0] || other.score[1] - one.score[1] || byName(one, other);
    const chosen = byId("sort").value;
    shown.hosts.sort(chosen === "name" ? byName : byWorst);
    if (chosen.startsWith("check ")) {
      const check = Number(chosen.slice(6));
      const at = new Map(shown.hosts.map((host) => [host, statusOf(host, check) ?? STATUSES.length]));
      shown.hosts.sort((one, other) => at.get(one) - at.get(other));
    }
    shown.checks = [...columns.keys()].filter((index) => columns[index]);
    byId("scroll").hidden = !shown.hosts.length;
    byId("count").textContent = `${shown.hosts.length} of ${data.hosts.length} nodes, ${shown.checks.length} of `
      + `${data.checks.length} checks, ${findings} findings`
      + (shown.hosts.length ? "" : ". Nothing matches the filters.");
    byId("scroll").scrollTop = 0;
    drawHead();
    shown.first = -1;
    active = null;
    opener = null;
    draw(0);
    performance.measure("filter", "filter-begins");
  }

  function statusOf(host, check) {
    let worst;
    for (const index of host.matching) {
      const finding = data.findings[index];
      if (finding[CHECK] === check && (worst === undefined || finding[STATUS] < worst)) worst = finding[STATUS];
    }
    return worst;
  }

  function drawHead() {
    const row = node("tr", undefined, { "aria-rowindex": 1 });
    row.append(node("th", "Node", { scope: "col" }));
    for (const index of shown.checks) {
      const check = data.checks[index];
      const cell = node("th", undefined, { scope: "col" });
      const sort = node("button", check.id, { type: "button", title: check.title, "data-sort": index });
      if (byId("sort").value === `check ${index}`) cell.setAttribute("aria-sort", "descending");
      cell.append(sort);
      row.append(cell);
    }
    const focused = document.activeElement.dataset.sort;
    document.querySelector("#cells thead").replaceChildren(row);
    if (focused) document.querySelector(`#cells [data-sort="${focused}"]`)?.focus();
    byId("cells").setAttribute("aria-rowcount", shown.hosts.length + 1);
  }

  // Only rows in sight are in the document; the ones above and below are two rows of their height.
  // Asked for its size in between, the browser would lay out the map twice; its height is 70 % of the window at most.
  function draw(top) {
    const first = Math.max(0, Math.floor(top / ROW) - SPARE);
    const last = Math.min(shown.hosts.length, first + Math.ceil(innerHeight * 0.7 / ROW) + 2 * SPARE);
    if (first === shown.first && last === shown.last) return;
    Object.assign(shown, { first, last });
    const focused = document.activeElement.dataset ? document.activeElement.dataset.at : undefined;
    const rows = [spacer(first)];
    for (let at = first; at < last; at += 1) rows.push(rowOf(at));
    rows.push(spacer(shown.hosts.length - last));
    document.querySelector("#cells tbody").replaceChildren(...rows);
    const stop = document.querySelector(`#cells [data-at="${active}"]`) || document.querySelector("#cells tbody button");
    if (stop) stop.tabIndex = 0;
    const again = focused && document.querySelector(`#cells [data-at="${focused}"]`);
    if (again) again.focus({ preventScroll: true });
  }

  function spacer(rows) {
    const row = node("tr", undefined, { "aria-hidden": "true" });
    row.style.height = `${rows * ROW}px`;
    row.hidden = !rows;
    return row;
  }

  function rowOf(at) {
    const host = shown.hosts[at];
    const row = node("tr", undefined, { "aria-rowindex": at + 2 });
    const head = node("th", undefined, { scope: "row" });
    head.append(node("button", host.name, { type: "button", tabindex: -1, "data-at": `${at} -1`, title: host.name }));
    if (host.status !== "assessed") head.append(node("span", host.status.replace("_", " "), { class: "badge unknown" }));
    row.append(head);
    const worst = new Map();
    for (const index of host.matching) {
      const [check, status] = data.findings[index];
      if (!(worst.get(check) <= status)) worst.set(check, status);
    }
    shown.checks.forEach((check, column) => {
      const cell = node("td");
      const status = STATUSES[worst.get(check)];
      if (status) {
        cell.append(node("button", status[0].toUpperCase(), {
          class: status, tabindex: -1, "data-at": `${at} ${column}`,
          "aria-label": `${status[0].toUpperCase()}: ${status}, ${data.checks[check].id}, ${host.name}`,
          title: `${data.checks[check].id} ${data.checks[check].title}: ${status}` }));
      }
      row.append(cell);
    });
    return row;
  }

  function move(event) {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const from = event.target.dataset.at;
    if (!step || from === undefined) return;
    event.preventDefault();
    let [row, column] = from.split(" ").map(Number);
    for (;;) {
      row += step[0];
      column += step[1];
      if (row < 0 || row >= shown.hosts.length || column < -1 || column >= shown.checks.length) return;
      see(row);
      const next = document.querySelector(`#cells [data-at="${row} ${column}"]`);
      if (next) {
        document.querySelectorAll('#cells [tabindex="0"]').forEach((one) => { one.tabIndex = -1; });
        active = next.dataset.at;
        next.tabIndex = 0;
        next.focus();
        return;
      }
    }
  }

  function open(at) {
    const [row, column] = at.split(" ").map(Number);
    const host = shown.hosts[row];
    const check = column < 0 ? undefined : shown.checks[column];
    const detail = byId("detail");
    const found = host.matching.map((index) => data.findings[index])
      .filter((finding) => check === undefined || finding[CHECK] === check)
      .sort((one, other) => one[STATUS] - other[STATUS] || other[SEVERITY] - one[SEVERITY] || one[CHECK] - other[CHECK]);
    const title = node("h2", check === undefined ? host.name : `${host.name}, ${data.checks[check].id}`,
      { id: "detail-title" });
    const end = node("button", "Close", { type: "button", id: "detail-close" });
    end.addEventListener("click", close);
    opener = at;
    const parts = [end, title, node("p", host.verdict)];
    if (host.groups.length) parts.push(node("p", `Inventory groups: ${host.groups.join(", ")}`));
    detail.replaceChildren(...parts, ...found.map((finding) => article(host, finding)));
    detail.hidden = false;
    detail.focus();
    detail.scrollIntoView({ block: "start" });
  }

  function see(row) {
    if (row >= shown.first && row < shown.last) return;
    byId("scroll").scrollTop = Math.max(0, (row - SPARE) * ROW);
    draw(byId("scroll").scrollTop);
  }

  // Back to the cell; a filter since then has made other cells.
  function close() {
    byId("detail").hidden = true;
    if (opener) see(Number(opener.split(" ")[0]));
    (document.querySelector(`#cells [data-at="${opener}"]`) || byId("text")).focus();
  }

  function article(host, finding) {
    const check = data.checks[finding[CHECK]];
    const made = node("article");
    const title = node("h3");
    const status = STATUSES[finding[STATUS]];
    const head = text(finding, PROBLEM) || [check.title, text(finding, SUBJECT)].filter(Boolean).join(": ");
    title.append(node("span", status, { class: `badge ${status}` }), ` ${check.id} `,
      node("span", `(${data.severities[finding[SEVERITY]]}) `), head);
    const list = node("dl");
    const add = (name, value) => {
      if (!value || (value.length === 0)) return;
      const line = node("dd");
      line.append(value);
      list.append(node("dt", name), line);
    };
    add("Must hold", check.title);
    add("Subject", text(finding, SUBJECT));
    add("Observed", text(finding, OBSERVED));
    add("Expected", text(finding, EXPECTED));
    add("Reason", text(finding, REASON));
    add("Waiver", text(finding, WAIVER));
    add("Outcome of the fix", text(finding, OUTCOME));
    add("Why", check.why);
    const open = status !== "pass" && status !== "skip";
    const remediation = text(finding, REMEDIATION);
    if (open && remediation) add("Fix", copyable(remediation));
    // Other names mean something to the shell or in a pattern of Ansible.
    if (open && check.fix && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(host.name)) {
      add("Fix with Ansible", copyable(`ansible-playbook kubenode.netfilter.preflight --limit ${host.name} `
        + `-e preflight_fix=${check.fix}`));
    }
    add("Evidence", finding[EVIDENCE].map((at) => data.lines[at]).join("\n"));
    add("Read from", check.needs && check.needs.join(", "));
    add("Sources", check.sources && check.sources.join("; "));
    made.append(title, list);
    return made;
  }

  function copyable(command) {
    const whole = document.createDocumentFragment();
    const code = node("code", command);
    const button = node("button", "Copy", { type: "button", class: "copy", "aria-live": "polite" });
    button.addEventListener("click", () => {
      const range = document.createRange();
      range.selectNodeContents(code);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      // A page that was opened from a file may not use navigator.clipboard.
      button.textContent = document.execCommand("copy") ? "Copied" : "Press Ctrl+C";
    });
    whole.append(code, button);
    return whole;
  }

  function fill() {
    const healthy = data.hosts.every((host) => host.status === "assessed")
      && !data.findings.some((finding) => finding[STATUS] < 3);
    const severity = byId("severity");
    data.severities.forEach((name, index) => {
      severity.append(node("option", index ? `${name} and above` : "all", { value: index }));
    });
    if (data.severities.length) severity.lastChild.textContent = data.severities.at(-1);
    byId("group").append(node("option", "all", { value: "" }));
    for (const name of [...new Set(data.hosts.flatMap((host) => host.groups))].sort()) {
      byId("group").append(node("option", name, { value: name }));
    }
    data.checks.forEach((check, index) => {
      byId("checks").append(node("option", check.title, { value: check.id }));
      byId("sort").append(node("option", `by ${check.id}`, { value: `check ${index}` }));
    });
    STATUSES.forEach((name, index) => {
      const label = node("label");
      const box = node("input", undefined, { type: "checkbox", value: index });
      // A fleet in which everything passes shows that, not an empty map.
      box.checked = index < 3 || healthy;
      label.append(box, ` ${name[0].toUpperCase()} ${name}`);
      byId("statuses").append(label);
    });
  }

  const { compare } = new Intl.Collator("en", { numeric: true });
  [...data.hosts].sort((one, other) => compare(one.name, other.name)).forEach((host, rank) => { host.rank = rank; });
  fill();
  byId("map").hidden = false;
  byId("filters").addEventListener("input", filter);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  const redraw = () => draw(byId("scroll").scrollTop);
  byId("scroll").addEventListener("scroll", redraw, { passive: true });
  addEventListener("resize", redraw);
  byId("cells").addEventListener("keydown", move);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !byId("detail").hidden && event.target.closest("#detail, #cells")) close();
  });
  byId("cells").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.at !== undefined) {
      open(button.dataset.at);
    } else {
      byId("sort").value = `check ${button.dataset.sort}`;
      filter();
    }
  });
  filter();
}

// Until the data is unpacked nothing is shown in the place of the map; a browser that cannot do it keeps the tables.
document.getElementById("plain").hidden = true;
unpacked().then(show).catch((error) => {
  document.getElementById("plain").hidden = false;
  throw error;
});
