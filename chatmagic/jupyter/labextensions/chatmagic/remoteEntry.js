// Entry of a prebuilt extension for JupyterLab 4 and Notebook 7: a module-federation container with
// `init` and `get`. It is written by hand, so that an installation needs no build step. The code is in
// ES modules, which the browser loads from `page/`. Browsers cache a folder called `static` for a year,
// but check this one at each load.

(() => {
  const { src } = document.currentScript;
  /** The packages that the front end shares, by name and version. */
  let shared = {};

  /** Return a package of the front end, in the version that is in use. */
  async function sharedPackage(name) {
    const versions = Object.values(shared[name] ?? {});
    const version = versions.find(({ loaded }) => loaded) ?? versions[0];
    return version && (await version.get())();
  }

  window._JUPYTERLAB = window._JUPYTERLAB ?? {};
  window._JUPYTERLAB.chatmagic = {
    init(scope) {
      shared = scope;
    },
    async get(name) {
      if (name !== "./extension") throw new Error(`chatmagic has no ${name}`);
      const { plugin } = await import(new URL("page/extension.js", src));
      const notebook = await sharedPackage("@jupyterlab/notebook");
      // Without ipywidgets in the server's environment there is no panel.
      const widgets = await sharedPackage("@jupyter-widgets/base").catch(() => undefined);
      const plugins = [plugin(notebook, widgets)];
      return () => plugins;
    },
  };
})();
