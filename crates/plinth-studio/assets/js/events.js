// Receives the events of renders: from a stream, or from time to time if the account has too many streams open.

const RETRY_MS = 15_000;

/**
 * Calls `receive` with each event of an address until `close` is called.
 * @param {string} address
 * @param {(event: object) => void} receive
 * @returns {{ close: () => void }}
 */
export function listen(address, receive) {
  let stream;
  let timer;
  let isClosed = false;
  const open = () => {
    stream = new EventSource(address);
    stream.addEventListener("message", ({ data }) => receive(JSON.parse(data)));
    stream.addEventListener("error", () => {
      // The browser connects again by itself unless the server has answered with an error.
      if (stream.readyState === EventSource.CLOSED && !isClosed) askOnce();
    });
  };
  const askOnce = async () => {
    const url = new URL(address, location.href);
    url.searchParams.set("once", "1");
    try {
      const answer = await fetch(url);
      const lines = answer.ok ? (await answer.text()).split("\n") : [];
      for (const line of lines) {
        if (line.startsWith("data:") && !isClosed) receive(JSON.parse(line.slice("data:".length)));
      }
    } catch {
      // The server cannot be reached; the next attempt may succeed.
    }
    if (!isClosed) timer = setTimeout(open, RETRY_MS);
  };
  open();
  return {
    close() {
      isClosed = true;
      clearTimeout(timer);
      stream.close();
    },
  };
}
