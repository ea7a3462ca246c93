// What JupyterLab 4 and Notebook 7 load of a prebuilt extension: a module-federation container
// with `init` and `get`. Written by hand, so that installing needs no build step. The code itself
// is in ES modules, which the browser loads from `page/`; a server has a folder called `static`
// cached for a year, this one is checked at each load.

(() => {
  const { src } = document.currentScript;
  /** The packages that the front end shares, by name and version. */
  let shared = {};

  /** Return a package of the front end: the version in use, as its tokens and classes count. */
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
