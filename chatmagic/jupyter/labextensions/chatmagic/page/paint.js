// A reply under way in a page. The front end draws the whole of it now and then; between that,
// the kernel says what is new, as blocks of HTML that it has made safe, and they are painted into
// the box that stands there. The classes of the box say whose it is, and how new; where they do
// not say how new, it holds plain text, in whose place goes what was painted before, or no reply yet.

import { make } from "./dom.js";

/** The most HTML that is put in within a frame, where more has come at once. */
const FRAME = 30_000;
/** What stands for a frequent piece of HTML. */
const MARK = /[\x80-\x9f]/;
const MARKS = /[\x80-\x9f]/g;
/** What was painted into a box, whichever module of the page did it. */
const PAINTED = Symbol.for("chatmagic.painted");

/**
 * @typedef {{serial: number, count: number}} Painted how many blocks a box shows, of those that
 *   stand after the message of this number
 * @typedef {Element & Record<symbol, Painted>} Box
 * @typedef {{html: string, since: number}} Block since which message it stands; without HTML, it
 *   came before this page did
 */

/** Return what a box shows. @param {Box} box @returns {Painted} */
function paintedIn(box) {
  // As the front end has drawn it, each child of it is a block.
  const [, at = "-1"] = box.className.match(/\bchatmagic-at-(\d+)/) ?? [""];
  return box[PAINTED] ?? { serial: Number(at), count: box.children.length };
}

export class Painter {
  /** @param {ParentNode} root where boxes are looked for, in any number of views */
  constructor(root) {
    this.root = root;
    /** @type {string[]} what the marks in blocks stand for, from U+0080 on */
    this.frequent = [];
    this.frame = 0;
    this.live = "";
    this.serial = -1;
    this.last = false;
    /** @type {Block[]} */
    this.blocks = [];
    /** @type {Map<?Element, Box>} the box of each output area */
    this.boxes = new Map();
  }

  /** Forget the reply; what is painted stays. */
  forget() {
    cancelAnimationFrame(this.frame);
    Object.assign(this, { frame: 0, live: "", serial: -1, last: false });
    this.blocks = [];
    this.boxes.clear();
  }

  /**
   * Return all that came of a reply; empty where that is not known, or is known better.
   * @param {string} live
   * @param {number} [serial] of the last message that an output of it holds
   */
  painted(live, serial = -1) {
    const isNew = live === this.live && this.serial > serial;
    const blocks = isNew ? this.blocks.map(({ html }) => html) : [];
    return blocks.includes("") ? "" : blocks.join("");
  }

  /** Take what is new of a reply. @param {import("./messages.js").Paint} message */
  take({ live, serial, keep, blocks, same = 0, last = false, frequent = this.frequent }) {
    this.frequent = frequent;
    if (live !== this.live) this.forget();
    if (live !== this.live || serial !== this.serial + 1) {
      this.blocks = Array.from({ length: keep }, () => ({ html: "", since: serial - 1 }));
    }
    const before = this.blocks[keep]?.html ?? "";
    const whole = blocks.map((block, at) => {
      // What cannot be read is waited for: all that is shown comes soon.
      if (MARK.test(block) && !frequent.length) return "";
      const html = block.replace(MARKS, (mark) => frequent[mark.charCodeAt(0) - 0x80] ?? "");
      return at || !same ? html : before && before.slice(0, same) + html;
    });
    // What is told again stands since it was told first.
    const told = whole.map((html, at) => {
      const known = this.blocks[keep + at];
      return html && known?.html === html ? known : { html, since: serial };
    });
    this.blocks.splice(keep, Infinity, ...told);
    Object.assign(this, { live, serial, last });
    this.look();
  }

  /** Paint what lacks, soon; boxes come anew as the front end draws, and as the reader scrolls. */
  look() {
    if (!this.live) return;
    // At once, before anything lays out what the front end has drawn.
    for (const box of this.shown()) this.restore(box);
    this.frame ||= requestAnimationFrame(() => this.paint());
  }

  /** Return the boxes of the reply. @returns {NodeListOf<Box>} */
  shown() {
    return this.root.querySelectorAll(`.chatmagic-live-${this.live}`);
  }

  paint() {
    this.frame = 0;
    let room = FRAME;
    for (const box of this.shown()) if (room > 0) room -= this.paintBox(box, room);
    if (room <= 0) this.look();
    else if (this.last) this.forget();
  }

  /**
   * Put what was painted back, where the front end has drawn the box anew.
   * @param {Box} box
   */
  restore(box) {
    const note = (box.closest(".chatmagic") ?? box).nextElementSibling;
    if (note?.matches(".chatmagic-partial")) note.remove(); // of a save; it is for the file
    const area = box.closest(".jp-OutputArea");
    const old = this.boxes.get(area);
    this.boxes.set(area, box);
    if (area && old && !area.contains(old) && paintedIn(old).serial > paintedIn(box).serial) {
      box.replaceChildren(...old.childNodes);
      box[PAINTED] = paintedIn(old);
    }
  }

  /**
   * Paint what a box lacks, or as much of it as there is room for.
   * @param {Box} box
   * @param {number} room in characters of HTML
   * @returns {number} how much of it was taken
   */
  paintBox(box, room) {
    const { blocks } = this;
    const { serial, count } = paintedIn(box);
    // Blocks stand in the order in which they came.
    let kept = blocks.length;
    while (kept && blocks[kept - 1].since > serial) kept -= 1;
    kept = Math.min(kept, count);
    const isDone = serial > this.serial || (serial === this.serial && count === blocks.length);
    if (isDone || blocks[kept]?.html === "") return 0;
    /** @type {string[]} */
    const html = [];
    let taken = 1;
    for (let next = kept; next < blocks.length && taken <= room; next++) {
      html.push(blocks[next].html);
      taken += blocks[next].html.length;
    }
    const template = make("template");
    template.innerHTML = html.join("");
    const end = box.children[kept - 1];
    while (box.lastChild && box.lastChild !== end) box.lastChild.remove();
    box.append(template.content);
    box[PAINTED] = { serial: this.serial, count: kept + html.length };
    return taken;
  }
}
