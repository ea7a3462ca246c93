// What the tests of hostile replies look at in a page. Each part gives sentences about what is
// wrong, none if all is well; `given` says what may stand in an output of ours.

window.hostile = {
  /** Scripts of replies call `top.ran(number)`; a page that is loaded anew begins anew. */
  ran: [],

  roots(given) {
    return [...document.querySelectorAll(given.roots)]
      .filter((root) => !root.parentElement.closest(given.roots));
  },

  /** Everything in the outputs: elements, attributes, links, and what the browser makes of them. */
  standing(given) {
    const found = new Set(this.ran.map((number) => `reply ${number} ran`));
    const roots = this.roots(given);
    for (const root of given.last ? roots.slice(-1) : roots) {
      const say = (words) => found.add(`output ${roots.indexOf(root)}: ${words}`);
      for (const element of [root, ...root.querySelectorAll('*')]) {
        if (element.closest(given.ours)) continue;
        if (element.closest('mjx-container')) this.inFormula(element, say);
        else this.inText(element, given, say);
      }
    }
    return [...found];
  },

  inFormula(element, say) {
    const bad = /^(a|img|image|script|style|iframe|object|embed|input|form|button|svg|use)$/i;
    if (bad.test(element.localName)) say(`<${element.localName}> in a formula`);
    for (const { name, value } of element.attributes) {
      if (/^(href|src|id|name|on.*|data-(command|jp|lm).*|xlink.*)$/i.test(name)) {
        say(`${name}="${value}" in a formula`);
      }
    }
  },

  inText(element, given, say) {
    const tag = element.localName;
    if (!given.tags.includes(tag)) say(`<${tag}>`);
    for (const name of element.getAttributeNames()) {
      if (!given.attributes.includes(name)) say(`<${tag} ${name}>`);
    }
    const style = getComputedStyle(element);
    if (/fixed|absolute|sticky/.test(style.position)) say(`<${tag}> is ${style.position}`);
    if (style.animationName !== 'none') say(`<${tag}> is animated`);
    if (style.backgroundImage !== 'none') say(`<${tag}> has ${style.backgroundImage}`);
    if (tag === 'a') this.link(element, given, say);
  },

  link(element, given, say) {
    const { href, target, rel, protocol } = element;
    // JupyterLab makes links of printed text: to files of its own server, which it opens itself,
    // and of what is no address, which lead nowhere.
    const own = !element.hasAttribute('href') || href.startsWith(`${location.origin}/lab/tree/`);
    if (given.foreign && (own || !URL.canParse(href))) return;
    if (!['http:', 'https:', 'mailto:'].includes(protocol)) say(`leads to ${href}`);
    if (target !== '_blank') say(`${href} opens in "${target}"`);
    // JupyterLab leaves `noopener` alone of the rel that we write.
    if (!/\bnoopener\b/.test(rel)) say(`${href} is "${rel}"`);
    if (given.foreign) return;
    if (given.trusted && element.referrerPolicy !== 'no-referrer') say(`${href} says where it stood`);
    if (element.title !== element.getAttribute('href')) say(`${href} says ${element.title}`);
    const place = protocol === 'mailto:' ? element.pathname : element.hostname;
    if (!element.textContent.toLowerCase().includes(place.replace(/^www\./, ''))) {
      say(`"${element.textContent}" does not show ${place}`);
    }
  },

  /** How the page itself looks, and what a reply could have changed of it. */
  landmarks() {
    const names = ['body', '#main', '.jp-NotebookPanel-toolbar', '.jp-NotebookPanel-toolbar button',
      '.jp-NotebookPanel-notebook', '.jp-CodeCell .jp-InputArea-editor', '.jp-CodeCell .cm-content',
      '.jp-OutputArea', '#jp-MainMenu, #menu-panel'];
    const styles = ['display', 'visibility', 'opacity', 'color', 'backgroundColor', 'pointerEvents',
      'backgroundImage', 'fontFamily', 'fontSize', 'transform', 'position', 'zIndex', 'filter',
      'animationName'];
    const found = {};
    for (const name of names) {
      const node = document.querySelector(name);
      const style = node && getComputedStyle(node);
      found[name] = style && styles.map((each) => style[each]).join(' ');
    }
    found.count = document.querySelectorAll('iframe, frame, object, embed, base, dialog, portal, '
      + 'meta[http-equiv], link[rel=import], link[rel=prefetch], link[rel=preload]').length;
    found.base = document.baseURI;
    found.app = typeof (window.jupyterapp || {}).commands + typeof document.getElementById;
    found.fonts = [...document.fonts].filter((font) => /trap/.test(font.family)).length;
    found.focus = Boolean(document.activeElement.closest('.chatmagic'));
    return found;
  },

  /** Whether each output keeps to its own box, and its reply off what stands below the reply. */
  async places(given) {
    const found = [];
    for (const [index, root] of this.roots(given).entries()) {
      if (given.only && !given.only.includes(index)) continue;
      const own = root.querySelector('.chatmagic-state') || root;
      const box = (root.closest('.jp-OutputArea-child') || root).getBoundingClientRect;
      own.scrollIntoView({ block: 'center' });
      await new Promise(requestAnimationFrame);
      const { left, right, top, bottom } = box.call(root.closest('.jp-OutputArea-child') || root);
      for (let x = 6; x < innerWidth; x += 70) {
        for (let y = 4; y < innerHeight; y += 25) {
          const there = document.elementFromPoint(x, y);
          if (!there || there.closest('.chatmagic') !== root) continue;
          if (x < left - 1 || x > right + 1 || y < top - 1 || y > bottom + 1) {
            found.push(`output ${index} has <${there.localName}> at ${x}, ${y}`);
          }
        }
      }
      for (const below of root.querySelectorAll('.chatmagic-state, .chatmagic-credits')) {
        const { x, y, height } = below.getBoundingClientRect();
        const there = document.elementFromPoint(x + 20, y + height / 2);
        if (there && !below.contains(there)) found.push(`output ${index} covers "${below.className}"`);
      }
    }
    return found;
  },

  /** Click on everything, by events that nobody but the page's own code acts upon. */
  click(given) {
    const found = [];
    const last = (event) => {
      const link = event.target.closest('a[href]');
      const own = link && link.href.startsWith(`${location.origin}/lab/tree/`);
      if (event.defaultPrevented && link && !(own && given.foreign)) found.push(`the page acts upon ${link.href}`);
      event.preventDefault();
    };
    addEventListener('click', last);
    addEventListener('auxclick', last);
    for (const root of this.roots(given)) {
      for (const element of root.querySelectorAll('*')) {
        if (element.closest(given.ours)) continue; // our own buttons make cells
        for (const kind of ['pointerenter', 'mouseover', 'mousedown', 'focus', 'mouseup', 'click', 'auxclick']) {
          element.dispatchEvent(new MouseEvent(kind, { bubbles: true, cancelable: true }));
        }
      }
    }
    removeEventListener('click', last);
    removeEventListener('auxclick', last);
    return found;
  },
};
window.ran = (number) => {
  window.hostile.ran.push(number);
};
void 0; // what a driver would take for a function is called
