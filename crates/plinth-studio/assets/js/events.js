// Receives server-sent events about renders, or polls if the account has too many open event streams. A page in the
// background closes its event stream, because over plain HTTP a browser opens at most six connections to a server for all
// tabs together.

const RETRY_MS = 15_000;

/** Statuses after which no later attempt can succeed: the browser is not signed in any more, or there is no such render. */
const FINAL_STATUSES = [401, 404];

/**
 * Requests the present states.
 * @param {string} address of the events
 * @returns {Promise<{status: number, events: any[]}>} the status of the response, which is 0 if the server cannot be reached
 */
async function presentStates(address) {
  const url = new URL(address, location.href);
  url.searchParams.set("once", "1");
  try {
    // A browser that is not signed in gets an error as JSON, instead of a redirect to the sign-in page.
    const answer = await fetch(url, { headers: { Accept: "application/json" } });
    const lines = answer.ok ? (await answer.text()).split("\n") : [];
    const data = lines.filter((line) => line.startsWith("data:"));
    return { status: answer.status, events: data.map((line) => JSON.parse(line.slice("data:".length))) };
  } catch {
    return { status: 0, events: [] };
  }
}

/**
 * Calls `receive` with each event from an address until `close` is called. The same event may be received again after an
 * interruption.
 * @param {string} address
 * @param {(event: any) => void} receive
 * @param {(status: number) => void} ended called with the status of the response if there will be no more events: 401 if the browser
 *   is not signed in any more, 404 if there is no such render in the current workspace
 * @returns {{ close: () => void }}
 */
export function listen(address, receive, ended) {
  /** @type {EventSource | null} */
  let stream = null;
  let timer = 0;
  let isClosed = false;
  const isPaused = () => isClosed || document.hidden;
  const open = () => {
    if (isPaused()) return;
    stream?.close();
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
    const failed = stream;
    const { status, events } = await presentStates(address);
    for (const event of events) if (!isClosed) receive(event);
    if (isClosed) return;
    if (FINAL_STATUSES.includes(status)) {
      close();
      ended(status);
    } else if (stream === failed) {
      // Otherwise, the page was in the background in the meantime, which has closed the stream or replaced it.
      timer = window.setTimeout(open, RETRY_MS);
    }
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
  const close = () => {
    isClosed = true;
    document.removeEventListener("visibilitychange", watch);
    pause();
  };
  document.addEventListener("visibilitychange", watch);
  open();
  return { close };
}
