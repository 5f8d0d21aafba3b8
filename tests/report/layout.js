// How full the cards of a page are, and what its tables and pictures of intervals look like.
() => {
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  const box = element => element.getBoundingClientRect();
  const seen = {};
  // of each group of cards, how high its columns are, and what share of a card is blank at its end
  seen.columns = all(".cards").map(group => {
    const ends = new Map();
    for (const card of group.children) {
      const left = Math.round(box(card).left);
      ends.set(left, Math.max(ends.get(left) || 0, box(card).bottom - box(group).top));
    }
    return Array.from(ends.values());
  });
  seen.blank = all(".card").filter(card => box(card).height > 0).map(card => {
    const parts = Array.from(card.children).filter(part => box(part).height > 0);
    const end = Math.max(...parts.map(part => box(part).bottom));
    return [card.querySelector("h3, summary, p").textContent, (box(card).bottom - end) / box(card).height];
  });
  seen.tables = all(".compact").filter(one => box(one).width > 0).map(one => ({
    title: one.closest(".card").querySelector("h3, summary").textContent,
    width: box(one).width / box(document.querySelector("main")).width,
    scrolls: one.scrollHeight > one.clientHeight + 1 || one.scrollWidth > one.clientWidth + 1,
    highest: Math.max(...all("tbody tr", one).map(row => box(row).height)),
  }));
  // what can be seen of an interval beside the mark of its score
  seen.intervals = all(".bars").filter(one => box(one).width > 0 && one.querySelector("i")).map(
    one => box(one.querySelector("i")).width - box(one.querySelector("b")).width);
  return seen;
}
