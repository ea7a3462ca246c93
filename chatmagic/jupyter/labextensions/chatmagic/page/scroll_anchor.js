// The place of a prompt in the page while its reply grows. After Shift+Enter the next cell is the active one,
// and a browser keeps that in its place (CSS overflow-anchor), so that a growing reply would push its own
// prompt out of sight. Where a prompt is out of sight anyway, the browser may keep what is read below.

const SCROLLER = ".jp-WindowedPanel-outer";
const CELL = ".jp-Notebook-cell";

/** Whether an element's top is in sight. @param {Element} element @param {Element} scroller around it */
function isTopInSight(element, scroller) {
  const { top } = element.getBoundingClientRect();
  const { top: first, bottom: last } = scroller.getBoundingClientRect();
  return top >= first && top < last;
}

/** The views of notebooks in which no browser keeps the cells below a growing reply in their place. */
export class ScrollAnchor {
  constructor() {
    /** @type {Set<HTMLElement>} */
    this.held = new Set();
  }

  /** Keep each prompt in its place whose reply is about to grow. @param {Iterable<Element>} boxes of replies */
  hold(boxes) {
    /** @type {Map<HTMLElement, boolean>} by the scroller, whether a prompt is in sight */
    const seen = new Map();
    for (const box of boxes) {
      const cell = box.closest(CELL);
      const scroller = /** @type {HTMLElement | null | undefined} */ (cell?.closest(SCROLLER));
      if (cell && scroller) seen.set(scroller, seen.get(scroller) || isTopInSight(cell, scroller));
    }
    for (const [scroller, isSeen] of seen) {
      if (isSeen) this.held.add(scroller);
      scroller.style.overflowAnchor = isSeen ? "none" : "";
    }
  }

  /** Leave the scrolling to the browser again. */
  release() {
    for (const scroller of this.held) scroller.style.overflowAnchor = "";
    this.held.clear();
  }
}
