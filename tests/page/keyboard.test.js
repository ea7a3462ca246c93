// Which keys the front end gets.

import assert from "node:assert/strict";
import { test } from "node:test";

import "./browser.js";
import { isForFrontEnd } from "../../chatmagic/jupyter/labextensions/chatmagic/page/composer.js";

const press = (key, held = {}) => isForFrontEnd({ key, getModifierState: () => false, ...held });

test("shortcuts of the page are the page's", () => {
  for (const key of ["s", "f", "K"]) assert.ok(press(key, { ctrlKey: true }));
  assert.ok(press("s", { metaKey: true }));
  assert.ok(press("F5"));
  assert.ok(press("x", { altKey: true }));
});

test("what types, edits or runs a cell is the panel's", () => {
  for (const key of ["a", "d", "Enter", "Escape", "ArrowUp", "Tab"]) assert.ok(!press(key));
  for (const key of ["a", "c", "v", "x", "y", "z"]) assert.ok(!press(key, { ctrlKey: true }));
  assert.ok(!press("V", { ctrlKey: true, shiftKey: true }));
  assert.ok(press("C", { ctrlKey: true, shiftKey: true }));
  assert.ok(!press("Enter", { ctrlKey: true }));
  assert.ok(!press("@", { ctrlKey: true, getModifierState: (name) => name === "AltGraph" }));
});

test("on a Mac, Option types", () => {
  navigator.platform = "MacIntel";
  assert.ok(!press("ø", { altKey: true }));
  navigator.platform = "Linux";
});
