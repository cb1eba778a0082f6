// Sends the requests of scripts. If the user has signed in again in another tab, the requests use the new session. The browser asks
// before the page is left during an upload.

import { readJson } from "./dom.js";

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
 * Rejects if nobody is signed in.
 * @returns {Promise<string | null>} the new value of the field `form_token`; null if the token is the same
 */
async function renewToken() {
  const inputs = /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("input[name=form_token]"));
  // The page itself may be the response to a form, which cannot be loaded again.
  const answer = await fetch(document.body.dataset.tokenPage, { headers: { Accept: "application/json" } });
  if (answer.status === 401) return readJson(answer);
  const text = await answer.text();
  const secret = /name="form_token" value="(\w+)\./.exec(text)?.[1];
  const [earlier, workspace] = inputs[0]?.value.split(".") ?? [];
  if (!secret || secret === earlier) return null;
  const token = `${secret}.${workspace}`;
  for (const input of inputs) input.value = token;
  return token;
}

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
  const answer = await send();
  if (answer.status !== 403) return readJson(answer);
  const token = await renewToken();
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
 * @returns {Promise<any>}
 */
export const upload = (address, body, progress) => countUpload(uploadWithToken(address, body, progress));

/**
 * Sends a form with files and the CSRF token of the current session.
 * @param {string} address
 * @param {FormData} body
 * @param {(fraction: number) => void} progress
 * @returns {Promise<any>}
 */
async function uploadWithToken(address, body, progress) {
  // A browser sends all files before it reads that the server has rejected the token of an earlier session.
  const token = await renewToken();
  if (token !== null) body.set("form_token", token);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", address);
    request.setRequestHeader("Accept", "application/json");
    request.upload.addEventListener("progress", ({ lengthComputable, loaded, total }) => {
      if (lengthComputable) progress(loaded / total);
    });
    request.upload.addEventListener("load", () => progress(1));
    request.addEventListener("load", () => resolve(readJson(new Response(request.responseText, { status: request.status }))));
    request.addEventListener("error", () => reject(new TypeError("the connection broke")));
    request.send(body);
  });
}
