// Scrolling of the log: it follows the newest text until the reader scrolls up.

import { button } from "./dom.js";

/** How near to the end, in pixels, a reader counts as being at the end. */
const NEAR = 24;

export class ScrollFollower {
  /**
   * @param {HTMLElement} box scrolls
   * @param {HTMLElement} content grows by itself, too, as when formulas are typeset
   */
  constructor(box, content) {
    this.box = box;
    this.content = content;
    this.down = button("down", "Go to the newest text", () => this.follow(true), "Newest");
    this.follows = true;
    this.top = 0;
    this.height = 0;
    box.addEventListener("scroll", () => this.scrolled());
    // Where the content grows at the same moment, a scroll alone does not tell who moved.
    box.addEventListener("wheel", (event) => this.wheeled(event), { passive: true });
    this.observer = new ResizeObserver(() => this.follow());
    this.observer.observe(content);
    this.observer.observe(box);
  }

  /** Note whether the reader has scrolled up; a box whose content changes scrolls, too. */
  scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.box;
    const isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR;
    const isLower = scrollTop > this.top || scrollHeight < this.height;
    if (isAtEnd && isLower) this.follows = true;
    else if (!isAtEnd && scrollTop < this.top && scrollHeight === this.height) this.follows = false;
    this.remember();
  }

  /**
   * Stop following a reader who turns the wheel upwards, before the box has moved.
   * @param {WheelEvent} event
   */
  wheeled(event) {
    if (event.deltaY >= 0 || this.box.scrollTop === 0) return;
    this.follows = false;
    this.remember();
  }

  /** @param {boolean} [always] also where the reader has scrolled up */
  follow(always = false) {
    if (always) this.follows = true;
    if (this.follows) this.box.scrollTop = this.box.scrollHeight;
    this.remember();
  }

  /**
   * Change what is above and keep a node where it is on the screen.
   * @param {HTMLElement | undefined} node
   * @param {() => void} change
   */
  hold(node, change) {
    const before = node?.offsetTop ?? 0;
    change();
    if (node?.isConnected) this.box.scrollTop += node.offsetTop - before;
  }

  remember() {
    this.top = this.box.scrollTop;
    this.height = this.box.scrollHeight;
    this.down.hidden = this.follows;
  }
}
