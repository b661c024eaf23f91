// Every text on the page whose contrast with what lies behind it is below WCAG AA: [text, ratio, colours].
() => {
  const parse = (text) => {
    const found = text.match(/rgba?\(([^)]+)\)/);
    if (!found) return null;
    const [r, g, b, a = 1] = found[1].split(/[,/ ]+/).filter(Boolean).map(Number);
    return [r, g, b, a];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const light = (colour) => {
    const [r, g, b] = colour.map((part) => { const s = part / 255; return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (one, two) => { const [a, b] = [light(one), light(two)].sort((x, y) => y - x); return (a + 0.05) / (b + 0.05); };
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour && colour[3] > 0) { layers.push(colour); if (colour[3] === 1) break; }
    }
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    let found = dark ? [18, 18, 18, 1] : [255, 255, 255, 1];
    for (const layer of layers.reverse()) found = over(layer, found);
    return found;
  };
  const bad = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement, text = node.textContent.trim();
    if (!text || element.closest("script, style, [hidden], option, [aria-hidden='true'], :disabled")) continue;
    const style = getComputedStyle(element), box = element.getBoundingClientRect();
    if (style.visibility === "hidden" || style.display === "none" || box.width <= 1 || box.height <= 1) continue;
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const back = behind(element), front = over(parse(style.color), back), found = ratio(front, back);
    if (found < (large ? 3 : 4.5)) bad.push([text.slice(0, 40), Math.round(found * 100) / 100, style.color, back.slice(0, 3).join(","), element.className]);
  }
  return bad;
}
