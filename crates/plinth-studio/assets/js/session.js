// Sends the requests of scripts. If the user has signed in again in another tab, the requests use the new session.

import { readJson } from "./dom.js";

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
 * @param {URLSearchParams | FormData} body
 * @param {AbortSignal} [signal]
 */
export async function post(address, body, signal) {
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
export async function upload(address, body, progress) {
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
