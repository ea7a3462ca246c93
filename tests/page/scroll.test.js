// The log that follows the newest text, while its content grows.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import "./browser.js";
import { ScrollFollower } from "../../chatmagic/jupyter/labextensions/chatmagic/page/message_list.js";

let box;
let follower;

const rest = () => box.scrollHeight - box.clientHeight - box.scrollTop;
const tell = (kind, event = {}) => box.listeners[kind].forEach((listener) => listener(event));

/** Let the content grow; the browser says so a moment later. */
function grow(tellOfIt = true) {
  box.scrollHeight += 100;
  if (tellOfIt) follower.follow();
}

/** Turn the wheel: the browser says so, and scrolls then. */
function wheel(deltaY) {
  tell("wheel", { deltaY });
  box.scrollTop = Math.max(0, box.scrollTop + deltaY);
  tell("scroll");
}

beforeEach(() => {
  box = document.createElement("div");
  follower = new ScrollFollower(box, document.createElement("div"));
  // As a browser bounds it.
  let top = 0;
  Object.defineProperty(box, "scrollTop", {
    get: () => top,
    set: (value) => (top = Math.min(value, box.scrollHeight - box.clientHeight)),
  });
  for (let times = 0; times < 9; times++) grow();
});

test("it follows what grows, and hides the way down", () => {
  assert.deepEqual([rest(), follower.down.hidden], [0, true]);
});

test("a reader who turns the wheel up is believed at once, also where the content grows", () => {
  grow(false);
  wheel(-200);
  grow();
  grow();
  assert.deepEqual([rest(), follower.down.hidden], [500, false]);
  follower.down.click();
  grow();
  assert.deepEqual([rest(), follower.down.hidden], [0, true]);
});

test("so is one who scrolls by another way, while nothing grows", () => {
  box.scrollTop -= 200;
  tell("scroll");
  grow();
  assert.equal(rest(), 300);
  box.scrollTop += 300;
  tell("scroll");
  grow();
  assert.equal(rest(), 0);
});

test("the wheel downwards, or at the top, is not turned away from the newest text", () => {
  wheel(200);
  grow();
  assert.equal(rest(), 0);
  box.scrollHeight = 100;
  box.scrollTop = 0;
  wheel(-200);
  grow();
  assert.equal(rest(), 0);
});
