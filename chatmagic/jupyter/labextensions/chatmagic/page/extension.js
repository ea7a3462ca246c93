// The plugin of JupyterLab 4 and Notebook 7: chatmagic's part of their pages. It acts only on
// messages of the kernel; the content of a notebook's file starts nothing.

import { statusRegion } from "./dom.js";
import { KernelLink, MISMATCH, PROTOCOL } from "./comm.js";
import panel from "./panel.js";
import review from "./review.js";
import { NotebookViews } from "./views.js";

/** The module of the widgets. No package registry accepts a name with an underscore first. */
const MODULE = "_chatmagic";
const STYLES = ["style.css", "review.css"];

/** @param {string} name of a style sheet beside this module */
function addStyles(name) {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = new URL(name, import.meta.url).href;
  document.head.append(link);
}

/**
 * Return the classes of the widgets: the panel, and a review.
 * @param {any} widgets the package @jupyter-widgets/base
 */
function widgetClasses({ DOMWidgetModel, DOMWidgetView }) {
  class PanelModel extends DOMWidgetModel {}

  class PanelView extends DOMWidgetView {
    render() {
      super.render();
      // A model without a comm is from the notebook's file, which is untrusted.
      if (!this.model.comm_live) return;
      const { model, el } = this;
      if (model.get("protocol") === PROTOCOL) this.close = panel.render({ model, el });
      else el.textContent = MISMATCH;
    }

    remove() {
      this.close?.();
      super.remove();
    }
  }

  class ReviewModel extends DOMWidgetModel {}

  class ReviewView extends DOMWidgetView {
    render() {
      super.render();
      const { model, el } = this;
      if (model.comm_live) this.close = review.render({ model, el });
    }

    remove() {
      this.close?.();
      super.remove();
    }
  }

  return { PanelModel, PanelView, ReviewModel, ReviewView };
}

/**
 * Return the plugin.
 * @param {any} notebook the package @jupyterlab/notebook
 * @param {any} [widgets] the package @jupyter-widgets/base
 */
export function plugin({ INotebookTracker, NotebookActions }, widgets) {
  return {
    id: "chatmagic:plugin",
    description: "Order of cells, marks, replies as they arrive, and the chat panel.",
    autoStart: true,
    requires: [INotebookTracker],
    optional: widgets ? [widgets.IJupyterWidgetRegistry] : [],
    activate(/** @type {any} */ _app, /** @type {any} */ tracker, /** @type {any} */ registry) {
      STYLES.forEach(addStyles);
      statusRegion();
      const known = new WeakSet();
      const open = async (/** @type {any} */ { context }) => {
        if (known.has(context)) return;
        known.add(context);
        try {
          await context.ready;
        } catch {
          return; // the front end says that the file cannot be loaded
        }
        if (!context.isDisposed) new KernelLink(new NotebookViews(context, tracker, NotebookActions));
      };
      tracker.forEach(open);
      tracker.widgetAdded.connect((/** @type {any} */ _tracker, /** @type {any} */ shown) => open(shown));
      const version = `${PROTOCOL}.0.0`;
      registry?.registerWidget({ name: MODULE, version, exports: () => widgetClasses(widgets) });
    },
  };
}
