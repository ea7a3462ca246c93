// A reply under way, painted into the boxes that the front end draws of it.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { samples } from "./browser.js";
import { Painter } from "../../chatmagic/jupyter/labextensions/chatmagic/page/live_reply.js";

const LIVE = "0123456789ab";
let boxes;
let painter;

/** A box as the front end draws it after a message of this number. */
function box(at, ...blocks) {
  const node = document.createElement("div");
  node.className = `chatmagic-reply chatmagic-live chatmagic-live-${LIVE} chatmagic-at-${at}`;
  node.append(...blocks.map((text) => Object.assign(document.createElement("p"), { textContent: text })));
  return node;
}

const paint = (serial, keep, texts, more) => {
  const blocks = texts.map((text) => `<p>${text}</p>\n`);
  painter.take({ kind: "paint", live: LIVE, serial, keep, blocks, ...more });
};
const shown = (node = boxes[0]) => node.children.map((child) => child.textContent).join(" ");

beforeEach(() => {
  boxes = [box(0, "A")];
  const root = {
    querySelectorAll: (selector) => boxes.filter((node) => node.classList.has(selector.slice(1))),
  };
  painter = new Painter(root);
});

test("the first blocks stay as they are, the others are replaced, in every view", () => {
  boxes.push(box(0, "A"));
  paint(0, 0, ["A"]);
  const [first] = boxes[0].children;
  paint(1, 1, ["B", "C"]);
  paint(2, 2, ["CC", "D"]);
  assert.deepEqual(boxes.map(shown), ["A B CC D", "A B CC D"]);
  assert.equal(boxes[0].children[0], first);
  paint(3, 1, []);
  assert.deepEqual(boxes.map(shown), ["A", "A"]);
  paint(4, 1, ["B"]);
  const [{ serial, ...sample }] = samples("to the bridge").filter(({ kind }) => kind === "paint");
  painter.take({ ...sample, serial: 5 });
  assert.equal(shown(), "A And more.");
});

test("what the front end draws anew is painted again, from where it is", () => {
  paint(0, 0, ["A"]);
  paint(1, 1, ["B"]);
  paint(2, 2, ["C"]);
  boxes = [box(1, "A", "B")];
  const [, second] = boxes[0].children;
  painter.look();
  assert.equal(shown(), "A B C");
  assert.equal(boxes[0].children[1], second);
  // The front end may have drawn what the next message tells.
  boxes = [box(3, "A", "B", "C", "D")];
  painter.look();
  assert.equal(shown(), "A B C D");
  paint(3, 3, ["D"]);
  paint(4, 3, ["DD"]);
  assert.equal(shown(), "A B C DD");
});

test("what is told again stays as it is painted", () => {
  paint(0, 0, ["A"]);
  paint(1, 1, ["B"]);
  const [, second] = boxes[0].children;
  paint(2, 0, ["A", "B", "C"]);
  assert.equal(shown(), "A B C");
  assert.equal(boxes[0].children[1], second);
});

test("a page that comes later, or misses a message, waits for a box to build upon", () => {
  paint(5, 3, ["D"]);
  assert.equal(shown(), "A");
  boxes = [box(4, "A", "B", "C")];
  painter.look();
  assert.equal(shown(), "A B C D");
  paint(7, 3, ["F"]);
  assert.equal(shown(), "A B C D");
  boxes = [box(6, "A", "B", "C", "E")];
  paint(8, 4, ["G"]);
  assert.equal(shown(), "A B C F G");
  // Without a box it is painted all the same when all of it comes at once.
  boxes = [box(2, "A", "B")];
  paint(10, 0, ["A", "B", "H"]);
  assert.equal(shown(), "A B H");
});

test("much at once is painted over several frames, one message after the other", (t) => {
  const frames = [];
  const { requestAnimationFrame } = globalThis;
  globalThis.requestAnimationFrame = (act) => frames.push(act);
  t.after(() => Object.assign(globalThis, { requestAnimationFrame }));
  const text = "x".repeat(40_000);
  paint(0, 0, ["A", text, text, text, "B"]);
  frames.shift()();
  assert.equal(boxes[0].children.length, 2);
  frames.shift()();
  assert.equal(boxes[0].children.length, 3);
  paint(1, 4, ["C"]);
  while (frames.length) frames.shift()();
  assert.deepEqual(boxes[0].children.map((child) => child.textContent.length), [1, 40_000, 40_000, 40_000, 1]);
  assert.equal(boxes[0].children[4].textContent, "C");
});

test("the last message is painted, and then nothing is kept", () => {
  paint(0, 0, ["A"]);
  paint(1, 1, ["B"], { last: true });
  assert.equal(shown(), "A B");
  assert.equal(painter.replies.size, 0);
  boxes = [box(0, "A")];
  painter.look();
  assert.equal(shown(), "A");
});
