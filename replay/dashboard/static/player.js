"use strict";
// Steps a board through the moves of one game.  Everything that differs between games and pages stands in the page's data.
(() => {
  const source = document.getElementById("data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const rows = data.rows, kinds = data.css, signs = data.signs, words = data.words;
  const byId = (id) => document.getElementById(id);
  const cells = byId("board").querySelectorAll("i");
  const list = byId("list"), slider = byId("slider");
  const parting = rows.findIndex((row) => row.wrong);
  let now = data.opened;

  function element(name, className, text) {
    const made = document.createElement(name);
    made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function drawShape(name) {
    const drawing = data.shapes[name], made = element("span", "shape columns-" + drawing[0].length);
    made.setAttribute("aria-hidden", "true");
    for (const line of drawing) for (const cell of line) made.append(element("i", kinds[cell], data.signed ? signs[cell] : ""));
    return made;
  }

  function drawPanels(row) {
    row.panels.forEach((panel, place) => {
      byId(data.panels[place] + "-title").textContent = panel.title;
      byId(data.panels[place]).replaceChildren(...panel.items.map(([label, name]) => {
        const item = element("li", "", label);
        if (name) item.append(drawShape(name));
        return item;
      }));
    });
  }

  function keepInView(row) {
    // Only the list scrolls, never the page.
    const box = list.getBoundingClientRect(), line = row.getBoundingClientRect();
    const above = line.top - box.top - 2 * list.querySelector("thead").offsetHeight, below = line.bottom - box.bottom + line.height;
    if (above < 0) list.scrollTop += above;
    else if (below > 0) list.scrollTop += below;
  }

  function show(index) {
    const before = now;
    now = Math.max(0, Math.min(rows.length - 1, index));
    const row = rows[now], board = byId("board");
    cells.forEach((cell, place) => {
      const kind = row.grid[place];
      cell.className = kinds[kind];
      cell.textContent = signs[kind];
    });
    board.setAttribute("aria-label", row.say);
    board.classList.remove("flash");
    if (now === before + 1) {
      void board.offsetWidth;  // lets the animation start anew
      board.classList.add("flash");
    }
    byId("title").textContent = row.n ? words.move.replace("{number}", row.n.toLocaleString(words.lang, { useGrouping: "always" })) : words.start;
    byId("say").replaceChildren(...(row.wrong ? [element("span", "wrong-text", "✗ " + data.wrong)] : []), row.say);
    byId("numbers").querySelectorAll("dd").forEach((value, place) => { value.textContent = row.numbers[place]; });
    drawPanels(row);
    slider.value = now;
    slider.setAttribute("aria-valuetext", row.n ? words.move_value.replace("{number}", row.n) : words.start_value);
    byId("to-first").disabled = byId("back").disabled = now === 0;
    byId("to-last").disabled = byId("forward").disabled = now === rows.length - 1;
    list.querySelector("[aria-current]")?.removeAttribute("aria-current");
    const line = byId("move-" + row.place);
    line.setAttribute("aria-current", "true");
    keepInView(line);
  }

  const goes = { "to-first": () => 0, back: () => now - 1, forward: () => now + 1, "to-last": () => rows.length - 1, "to-wrong": () => parting };
  for (const [id, where] of Object.entries(goes)) byId(id)?.addEventListener("click", () => show(where()));
  slider.addEventListener("input", () => show(Number(slider.value)));
  list.addEventListener("click", (event) => {
    const line = event.target.closest("[data-row]");
    if (!line) return;
    event.preventDefault();
    show(Number(line.dataset.row));
  });
  const keys = { ArrowLeft: "back", ArrowRight: "forward", Home: "to-first", End: "to-last" };
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || !(event.key in keys)) return;
    // Who writes a reason moves in the text, not in the game.
    if (event.target.closest?.("input:not(#slider), textarea, select, pre")) return;
    event.preventDefault();
    show(goes[keys[event.key]]());
  });
  function fromAddress() {
    const found = rows.findIndex((row) => location.hash === "#move-" + row.place);
    if (found >= 0) show(found);
  }
  window.addEventListener("hashchange", fromAddress);
  document.documentElement.classList.add("js");
  show(now);
  fromAddress();
})();
