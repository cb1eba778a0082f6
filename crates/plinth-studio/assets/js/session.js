// Sends the requests of scripts. If the user has signed in again in another tab, the requests use the new session. The browser asks
// before the page is left during an upload.

import { readJson, Rejection } from "./dom.js";

/** Number of uploads that have not ended. */
let uploads = 0;

/** Returns whether the page has uploads that have not ended. */
export const isUploading = () => uploads > 0;

/**
 * Counts an upload until its promise is settled.
 * @template Result
 * @param {Promise<Result>} upload
 * @returns {Promise<Result>} settled after the upload is no longer counted
 */
export async function countUpload(upload) {
  uploads += 1;
  try {
    return await upload;
  } finally {
    uploads -= 1;
  }
}

// Leaving the page would end the uploads.
window.addEventListener("beforeunload", (event) => {
  if (isUploading()) event.preventDefault();
});

/**
 * Writes the CSRF token of the current session into all forms of the page. The forms keep the workspace of the page.
 * @param {AbortSignal} [signal]
 * @returns {Promise<string | null>} the new value of the field `form_token`; null if the token is the same; rejected if the server
 *   rejects the request, for example because nobody is signed in
 */
async function renewToken(signal) {
  const inputs = /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("input[name=form_token]"));
  // The page itself may be the response to a form, which cannot be loaded again.
  const answer = await fetch(document.body.dataset.tokenPage, { headers: { Accept: "application/json" }, signal });
  if (!answer.ok) return readJson(answer);
  const text = await answer.text();
  const secret = /name="form_token" value="(\w+)\./.exec(text)?.[1];
  const [earlier, workspace] = inputs[0]?.value.split(".") ?? [];
  if (!secret || secret === earlier) return null;
  const token = `${secret}.${workspace}`;
  for (const input of inputs) input.value = token;
  return token;
}

/**
 * Reads the first byte of each file of a form, because a request with an unreadable file fails as if the connection were broken. Reads
 * a file of at most one byte as a whole: a slice of it may be empty and could always be read, and browsers may take a deleted file for
 * an empty one.
 * @param {FormData} body
 * @returns {Promise<void>} rejected with a `DOMException` if a file was changed, moved or deleted since the user has chosen it
 */
async function checkFiles(body) {
  for (const value of body.values()) if (value instanceof File) await (value.size > 1 ? value.slice(0, 1) : value).arrayBuffer();
}

/** A server that rejects a request this often is not only busy. */
const MOST_WAITS = 10;

/**
 * Waits for a number of seconds.
 * @param {number} seconds
 * @param {AbortSignal} [signal] ends the wait
 * @returns {Promise<void>} rejected if the signal is aborted
 */
function pause(seconds, signal) {
  return new Promise((done, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(done, 1000 * seconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

/**
 * Sends a request. If the server rejects it because of too many requests, waits as long as the server says, and sends it again, up to
 * `MOST_WAITS` times.
 * @template Result
 * @param {() => Promise<Result>} send
 * @param {(message: string) => void} waiting called before each wait with the message of the server
 * @param {AbortSignal} [signal] ends the wait
 * @returns {Promise<Result>}
 */
export async function sendWhenAllowed(send, waiting, signal) {
  for (let waits = 0; ; waits += 1) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof Rejection) || error.retryAfter === null || waits === MOST_WAITS) throw error;
      waiting(error.message);
      await pause(error.retryAfter, signal);
    }
  }
}

/**
 * Sends files like `sendWhenAllowed`. They count as an upload while they wait, too.
 * @template Result
 * @param {() => Promise<Result>} send
 * @param {(message: string) => void} waiting called before each wait with the message of the server
 * @returns {Promise<Result>}
 */
export const uploadWhenAllowed = (send, waiting) => countUpload(sendWhenAllowed(send, waiting));

/**
 * Sends a form and returns the JSON of the response.
 * @param {string} address
 * @param {URLSearchParams | FormData} body a `FormData` counts as an upload
 * @param {AbortSignal} [signal]
 */
export function post(address, body, signal) {
  const answer = postWithToken(address, body, signal);
  return body instanceof FormData ? countUpload(answer) : answer;
}

/**
 * Sends a form. If the server rejects its CSRF token, sends it again with the token of the current session.
 * @param {string} address
 * @param {URLSearchParams | FormData} body
 * @param {AbortSignal} [signal]
 */
async function postWithToken(address, body, signal) {
  const send = () => fetch(address, { method: "POST", headers: { Accept: "application/json" }, body, signal });
  if (body instanceof FormData) await checkFiles(body);
  const answer = await send();
  if (answer.status !== 403) return readJson(answer);
  const token = await renewToken(signal);
  if (token === null) return readJson(answer);
  body.set("form_token", token);
  return readJson(await send());
}

/**
 * Sends a form with files and returns the JSON of the response. Uses XMLHttpRequest, because fetch does not report the progress of an
 * upload.
 * @param {string} address
 * @param {FormData} body
 * @param {(fraction: number) => void} progress called with the sent fraction of the form, which is 1 at the end
 * @param {AbortSignal} [signal] cancels the upload
 * @returns {Promise<any>}
 */
export const upload = (address, body, progress, signal) => countUpload(uploadWithToken(address, body, progress, signal));

/**
 * Sends a form with files and the CSRF token of the current session.
 * @param {string} address
 * @param {FormData} body
 * @param {(fraction: number) => void} progress
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
async function uploadWithToken(address, body, progress, signal) {
  await checkFiles(body);
  // A browser sends all files before it reads that the server has rejected the token of an earlier session, or too many requests.
  const token = await renewToken(signal);
  if (token !== null) body.set("form_token", token);
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const request = new XMLHttpRequest();
    signal?.addEventListener("abort", () => {
      request.abort();
      reject(signal.reason);
    });
    request.open("POST", address);
    request.setRequestHeader("Accept", "application/json");
    request.upload.addEventListener("progress", ({ lengthComputable, loaded, total }) => {
      if (lengthComputable) progress(loaded / total);
    });
    request.upload.addEventListener("load", () => progress(1));
    request.addEventListener("load", () => resolve(readJson(responseOf(request))));
    // The browser reports a file that changes during the upload like a broken connection.
    request.addEventListener("error", () => checkFiles(body).then(() => reject(new TypeError("the connection broke")), reject));
    request.send(body);
  });
}

/**
 * Returns the response to a request as `fetch` would return it.
 * @param {XMLHttpRequest} request
 */
function responseOf(request) {
  const retryAfter = request.getResponseHeader("Retry-After");
  return new Response(request.responseText, { status: request.status, headers: retryAfter === null ? {} : { "Retry-After": retryAfter } });
}
