// Elements of the page. Text is inserted as text. The only HTML is safe HTML of the kernel.

const ICONS = {
  copy: "M5 2h8v9h-1.5V3.5H5zM3 4.5h7.5V14H3zM4.5 6v6.5H9V6z",
  retry: "M8 3a5 5 0 1 1-4.9 6h1.6A3.5 3.5 0 1 0 8 4.5V7L4.5 3.75 8 .5z",
  edit: "M11.6 1.6 14.4 4.4 5.6 13.2 2 14l.8-3.6zM10 5l1 1M3.9 11l1.1 1.1",
  cell: "M2 3h12v10H2zm1.5 1.5v7h9v-7zM7.25 6h1.5v1.25H10v1.5H8.75V10h-1.5V8.75H6v-1.5h1.25z",
  undo: "M6 2.5 2 6l4 3.5V7h3.5a2.5 2.5 0 0 1 0 5H5v1.5h4.5a4 4 0 0 0 0-8H6z",
  redo: "M10 2.5 14 6l-4 3.5V7H6.5a2.5 2.5 0 0 0 0 5H11v1.5H6.5a4 4 0 0 1 0-8H10z",
  clear: "M6 1.5h4V3h3.5v1.5h-11V3H6zM3.5 6h9l-.7 8.5H4.2zM5 7.5l.5 5.5h5l.5-5.5z",
  earlier: "M10.5 2.5 5 8l5.5 5.5 1-1L7 8l4.5-4.5z",
  later: "M5.5 2.5 11 8l-5.5 5.5-1-1L9 8 4.5 3.5z",
  send: "M1.5 2.5 14.5 8l-13 5.5V9.2L9 8 1.5 6.8z",
  stop: "M3.5 3.5h9v9h-9z",
  down: "M7.25 2h1.5v8.1l3.2-3.2L13 8l-5 5-5-5 1.05-1.1 3.2 3.2z",
};

const STATUS = "chatmagic-status";
const UNSEEN =
  "position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; " +
  "clip-path: inset(50%); white-space: nowrap;";

/**
 * Return a new element.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string} [classes]
 * @param {string | Array<string | Node>} [content] strings are put in as text
 * @param {Record<string, string>} [attributes]
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, classes = "", content = "", attributes = {}) {
  const element = document.createElement(tag);
  if (classes) element.className = classes;
  if (content) element.append(...[content].flat());
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/**
 * Return a button with an icon.
 * @param {keyof typeof ICONS} icon
 * @param {string} name read to those who do not see the icon
 * @param {() => unknown} act called by a click, unless the button is disabled
 * @param {string} [label] shown beside the icon
 */
export function button(icon, name, act, label) {
  const node = make("button", `cm-button cm-${icon}`, "", { type: "button" });
  node.innerHTML = `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${ICONS[icon]}"/></svg>`;
  // A visible name needs no tooltip.
  if (label) node.append(make("span", "", label));
  if (label !== name) node.setAttribute(label ? "aria-label" : "title", name);
  node.addEventListener("click", () => node.getAttribute("aria-disabled") !== "true" && act());
  return node;
}

/**
 * Enable or disable a button; a disabled one keeps the focus.
 * @param {HTMLButtonElement} node
 * @param {unknown} can
 */
export function enable(node, can) {
  node.setAttribute("aria-disabled", String(!can));
}

/**
 * Give a node these children in this order. As few as possible are moved, because a moved child loses
 * the focus.
 * @param {Element} parent
 * @param {Element[]} children
 */
export function arrange(parent, children) {
  const wanted = new Set(children);
  for (const child of Array.from(parent.children)) if (!wanted.has(child)) child.remove();
  let next = parent.firstElementChild;
  for (const child of children) {
    if (child === next) next = next.nextElementSibling;
    else parent.insertBefore(child, next);
  }
}

/** @type {HTMLElement | undefined} kept here, as an output may have the same id */
let region;

/**
 * Return the page's only status region. It is in the page before its first words, as a new region with
 * words is not read out.
 */
export function statusRegion() {
  region ??= make("div", "", "", { id: STATUS, role: "status", "aria-live": "polite", style: UNSEEN });
  if (!region.isConnected) document.body.append(region);
  return region;
}

/** Announce words to a screen reader. @param {string} words */
export function announce(words) {
  statusRegion().textContent = words;
}
