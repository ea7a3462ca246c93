"""Which text in a page is too pale to read, as a script for the page."""

from __future__ import annotations

from typing import Final

CODE: Final = " || node.closest('.highlight')"
"""What leaves code out, which has the page's own colours in JupyterLab."""
CONTRAST: Final = """root => {
  // Text in JupyterLab's colours, which may be transparent, on whatever shows through.
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const over = (colour, under) => {
    canvas.fillStyle = `rgb(${under.join(',')})`; canvas.fillRect(0, 0, 1, 1);
    canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return Array.from(canvas.getImageData(0, 0, 1, 1).data).slice(0, 3);
  };
  const light = rgb => rgb.map(c => c / 255)
    .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const under = node => !node ? [255, 255, 255]
    : over(getComputedStyle(node).backgroundColor, under(node.parentElement));
  const pale = [];
  for (const node of root.querySelectorAll('*')) {
    const text = Array.from(node.childNodes).some(one => one.nodeType === 3 && one.data.trim());
    const off = node.closest('[aria-disabled=true], .cm-replaced, mjx-container');
    if (!text || off || !node.checkVisibility()%s) continue;
    const back = under(node), fore = over(getComputedStyle(node).color, back);
    const [high, low] = [light(fore), light(back)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) pale.push([node.className, node.textContent.slice(0, 30), ratio.toFixed(2)]);
  }
  return pale;
}""".replace("%s", CODE)
"""A function of an element: what in it has a contrast below 4.5, with the ratio."""
