// What a browser sees of a report.
() => {
  const all = selector => Array.from(document.querySelectorAll(selector));
  const size = element => element.getBoundingClientRect();
  const visibleRows = () => all("#ranking tbody tr").filter(row => !row.hidden);
  const isClipped = text => text.getBBox().x < 0 || text.getBBox().x + text.getBBox().width > 440;
  const find = text => {
    const box = document.getElementById("search");
    box.value = text;
    box.dispatchEvent(new Event("input"));
  };

  const root = document.documentElement;
  const seen = { width: innerWidth, scroll: root.scrollWidth };
  seen.charts = all("svg").filter(chart => size(chart).height > 50).length;
  seen.outside = all("svg, .card").filter(one => size(one).right > innerWidth + 0.5).length;
  seen.tools = size(document.getElementById("search")).height > 0;
  find("ITEM 99");
  seen.found = visibleRows().length;
  find("");
  const heads = all("#ranking th button");
  heads[2].click();
  seen.worst = visibleRows()[0].cells[0].textContent;
  heads[2].click();
  seen.best = visibleRows()[0].cells[0].textContent;
  heads[1].click();
  seen.names = visibleRows().slice(0, 400).map(row => row.cells[1].textContent);
  for (const hidden of all("details")) hidden.open = true;
  seen.clipped = all("svg text").filter(isClipped).length;
  seen.scrolling = all(".box").filter(box => box.scrollWidth > box.clientWidth + 1).length;
  seen.highest = Math.max(...visibleRows().map(row => size(row).height));
  seen.item = size(document.querySelector("#ranking td.text")).width;
  seen.heads = heads.filter(head => size(head).width > 0).map(head => head.textContent);
  return seen;
}
