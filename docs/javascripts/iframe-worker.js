// A page read from disk may start no worker, and the search runs in one. There, the same
// script runs in a hidden frame of the page.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inner = frame.contentWindow;
      inner.postMessage = (data) =>
        this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inner.document.createElement("script");
      this.started = new Promise((done) => script.addEventListener("load", done));
      script.src = url;
      inner.document.body.append(script);
      this.inner = inner;
    }
    postMessage(data) {
      this.started.then(() =>
        this.inner.dispatchEvent(new MessageEvent("message", { data })),
      );
    }
  };
}
