// A reply under way in a page. The front end draws the whole reply from time to time. In
// between, the kernel sends the new text as blocks of HTML that it has made safe, and they are
// painted into the box of the reply. The classes of the box name its reply and the serial of its
// last paint; without a serial, it holds no reply yet.

import { make } from "./dom.js";

/** Largest number of characters of HTML that are inserted in one frame. */
const FRAME = 30_000;
/** Key of the state of a box, shared by all modules of the page. */
const PAINTED = Symbol.for("chatmagic.painted");

/**
 * @typedef {{serial: number, count: number}} Shown the number of blocks that a box shows, as of the
 * message of this serial
 * @typedef {Element & Record<symbol, Shown>} Box
 * @typedef {{html: string, since: number}} Block its HTML, and the serial of the message that brought
 * it; empty HTML came before this page
 */

/** Return the content of a box. @param {Box} box @returns {Shown} */
function paintedIn(box) {
  // In a box that the front end has drawn, each child is a block.
  const [, at = "-1"] = box.className.match(/\bchatmagic-at-(\d+)/) ?? [""];
  return box[PAINTED] ?? { serial: Number(at), count: box.children.length };
}

/** A reply under way, as its paints have built it. */
class Painted {
  constructor() {
    this.serial = -1;
    this.last = false;
    /** @type {Block[]} */
    this.blocks = [];
  }
}

export class Painter {
  /** @param {ParentNode} root the node around the boxes, in any number of views */
  constructor(root) {
    this.root = root;
    this.frame = 0;
    /** @type {Map<string, Painted>} by the name of the ask */
    this.replies = new Map();
  }

  /** Forget all replies; painted parts stay. */
  forget() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.replies.clear();
  }

  /**
   * Return the whole reply so far; empty if parts are missing, or if an output has more.
   * @param {string} live
   * @param {number} [serial] of the last message in an output of the reply
   */
  painted(live, serial = -1) {
    const reply = this.replies.get(live);
    const blocks = reply && reply.serial > serial ? reply.blocks.map(({ html }) => html) : [];
    return blocks.includes("") ? "" : blocks.join("");
  }

  /** Add the new part of a reply. @param {import("./messages.js").Paint} message */
  take({ live, serial, keep, blocks, last = false }) {
    const reply = this.replies.get(live) ?? new Painted();
    this.replies.set(live, reply);
    if (serial !== reply.serial + 1) {
      reply.blocks = Array.from({ length: keep }, () => ({ html: "", since: serial - 1 }));
    }
    // A repeated part has been there since it was first sent.
    const received = blocks.map((html, at) => {
      const known = reply.blocks[keep + at];
      return known?.html === html ? known : { html, since: serial };
    });
    reply.blocks.splice(keep, Infinity, ...received);
    Object.assign(reply, { serial, last });
    this.look();
  }

  /** Paint missing parts soon; the front end makes new boxes when it draws or the user scrolls. */
  look() {
    if (!this.replies.size) return;
    this.frame ||= requestAnimationFrame(() => this.paint());
  }

  /** Return the boxes of a reply. @param {string} live @returns {NodeListOf<Box>} */
  shown(live) {
    return this.root.querySelectorAll(`.chatmagic-live-${live}`);
  }

  paint() {
    this.frame = 0;
    let room = FRAME;
    for (const [live, reply] of this.replies) {
      for (const box of this.shown(live)) if (room > 0) room -= this.paintBox(box, reply, room);
      if (room > 0 && reply.last) this.replies.delete(live);
    }
    if (room <= 0) this.look();
  }

  /**
   * Paint the missing parts of a box, or as many as there is room for.
   * @param {Box} box
   * @param {Painted} reply
   * @param {number} room in characters of HTML
   * @returns {number} the room that was taken
   */
  paintBox(box, reply, room) {
    const { blocks } = reply;
    const { serial, count } = paintedIn(box);
    // Blocks stand in the order in which they came.
    let kept = blocks.length;
    while (kept && blocks[kept - 1].since > serial) kept -= 1;
    kept = Math.min(kept, count);
    const isDone = serial > reply.serial || (serial === reply.serial && count === blocks.length);
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
    box[PAINTED] = { serial: reply.serial, count: kept + html.length };
    return taken;
  }
}
