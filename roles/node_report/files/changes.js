"use strict";
// The page holds all rows. This hides those that do not match.
(() => {
  const SEVERITIES = ["info", "low", "medium", "high"];
  const byId = (id) => document.getElementById(id);
  const sections = [...document.querySelectorAll(".change")].map((section) => ({
    section, rows: [...section.querySelectorAll("tbody tr")].map((row) => ({
      row, check: row.cells[1].textContent, severity: SEVERITIES.indexOf(row.dataset.severity),
      text: row.textContent.toLowerCase(),
    })),
  }));
  const all = sections.reduce((sum, each) => sum + each.rows.length, 0);

  function filter() {
    performance.mark("filter-begins");
    const asked = byId("text").value.toLowerCase().split(/\s+/).filter((word) => word && word !== "-");
    const wanted = asked.filter((word) => !word.startsWith("-"));
    const excluded = asked.filter((word) => word.startsWith("-")).map((word) => word.slice(1));
    const checks = byId("check").value.toUpperCase().split(/[\s,]+/).filter(Boolean);
    const severity = Number(byId("severity").value);
    let count = 0;
    for (const { section, rows } of sections) {
      const before = count;
      for (const { row, check, severity: of, text } of rows) {
        row.hidden = of < severity || (checks.length > 0 && !checks.some((part) => check.startsWith(part)))
          || !wanted.every((word) => text.includes(word)) || excluded.some((word) => text.includes(word));
        count += row.hidden ? 0 : 1;
      }
      section.hidden = count === before;
    }
    byId("count").textContent = `${count} of ${all} rows`;
    performance.measure("filter", "filter-begins");
  }

  byId("filters").hidden = !all;
  byId("filters").addEventListener("input", filter);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
})();
