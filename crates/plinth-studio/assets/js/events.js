// Receives server-sent events about renders, or polls if the account has too many open event streams. A page in the
// background closes its event stream, because over plain HTTP a browser opens at most six connections to a server for all
// tabs together.

const RETRY_MS = 15_000;

/**
 * Calls `receive` with each event from an address until `close` is called. The same event may be received again after an
 * interruption.
 * @param {string} address
 * @param {(event: any) => void} receive
 * @returns {{ close: () => void }}
 */
export function listen(address, receive) {
  /** @type {EventSource | null} */
  let stream = null;
  let timer = 0;
  let isClosed = false;
  const isPaused = () => isClosed || document.hidden;
  const open = () => {
    if (isPaused()) return;
    const opened = new EventSource(address);
    stream = opened;
    opened.addEventListener("message", ({ data }) => {
      if (!isClosed) receive(JSON.parse(data));
    });
    opened.addEventListener("error", () => {
      // The browser reconnects, except after an error response.
      if (opened.readyState === EventSource.CLOSED && stream === opened) askOnce();
    });
  };
  const askOnce = async () => {
    if (isPaused()) return;
    const url = new URL(address, location.href);
    url.searchParams.set("once", "1");
    try {
      const answer = await fetch(url);
      const lines = answer.ok ? (await answer.text()).split("\n") : [];
      for (const line of lines) {
        if (line.startsWith("data:") && !isClosed) receive(JSON.parse(line.slice("data:".length)));
      }
    } catch {
      // The server cannot be reached. The next attempt may succeed.
    }
    clearTimeout(timer);
    if (!isPaused()) timer = window.setTimeout(open, RETRY_MS);
  };
  const pause = () => {
    clearTimeout(timer);
    stream?.close();
    stream = null;
  };
  const watch = () => {
    pause();
    open();
  };
  document.addEventListener("visibilitychange", watch);
  open();
  return {
    close() {
      isClosed = true;
      document.removeEventListener("visibilitychange", watch);
      pause();
    },
  };
}
