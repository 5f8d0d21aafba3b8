// Sentences about text that a reader cannot see or read on this page.
() => {
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  const box = element => element.getBoundingClientRect();
  const words = element => JSON.stringify(element.textContent.trim().slice(0, 60));
  const root = document.documentElement;
  const found = [];
  if (root.scrollWidth > innerWidth) {
    found.push(`the page is ${root.scrollWidth} px wide in a window of ${innerWidth}`);
  }
  // text for screen readers alone is hidden on purpose; a name cut after some lines is whole in its
  // title
  const isMeant = element => element.closest(".unseen, [title]");
  for (const element of all("body *:not(svg *)")) {
    if (!element.clientWidth || isMeant(element)) continue;
    const hidesBelow = ["hidden", "clip"].includes(getComputedStyle(element).overflowY);
    if (element.scrollWidth > element.clientWidth + 1) {
      found.push(`${element.tagName} scrolls sideways: ${words(element)}`);
    }
    if (hidesBelow && element.scrollHeight > element.clientHeight + 1) {
      found.push(`${element.tagName} is cut below: ${words(element)}`);
    }
  }
  const overlap = (a, b) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3; // boxes are higher than letters
  for (const chart of all("svg")) {
    const frame = box(chart);
    const label = chart.getAttribute("aria-label");
    const texts = all("text", chart).filter(text => box(text).width > 0);
    texts.forEach((text, place) => {
      const { left, right, top, bottom } = box(text);
      if (left < frame.left - 1 || right > frame.right + 1 || top < frame.top - 1
          || bottom > frame.bottom + 1) {
        found.push(`${label}: ${words(text)} is cut`);
      }
      for (const dashes of all(".limit", chart)) {
        if (right > box(dashes).left && top + 3 < box(dashes).top && box(dashes).bottom < bottom - 3) {
          found.push(`${label}: ${words(text)} lies on a dashed line`);
        }
      }
      for (const other of texts.slice(place + 1)) {
        if (overlap(box(text), box(other))) {
          found.push(`${label}: ${words(text)} lies over ${words(other)}`);
        }
      }
    });
  }
  return found;
}
