// Creates and finds elements. Text is always set as text, never parsed as HTML.

/**
 * Creates an element.
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, unknown>} [properties] properties of the element; names with a dash are attributes
 * @param {...(Node | string | null)} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function el(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes("-")) made.setAttribute(key, String(value));
    else Reflect.set(made, key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/**
 * Creates an SVG element.
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 * @param {...Node} children
 */
export function svg(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

/**
 * Returns the first element that matches the selector. Throws an error if there is none.
 * @param {string} selector
 * @param {ParentNode} [within]
 * @returns {any}
 */
export function need(selector, within = document) {
  const found = within.querySelector(selector);
  if (!found) throw new Error(`the page has no ${selector}`);
  return found;
}

/** Message if the server cannot be reached. */
export const NO_ANSWER = "The server does not answer. Please try again.";
/** Message if a chosen file was changed, moved or deleted, or the browser may not read it. */
const UNREADABLE = "The file was changed or cannot be read; choose it again.";
/** Names of the exceptions with which browsers reject the reading of such a file. */
const READ_ERRORS = ["NotReadableError", "NotFoundError"];

/** Statuses after which the same request can succeed later, for example after a new sign-in or the deletion of other files. */
const LATER_STATUSES = [401, 403, 408, 409, 429];

/** An error response of the server. */
export class Rejection extends Error {
  /**
   * @param {string} message
   * @param {number} status
   * @param {string | null} setting the setting that is wrong
   * @param {number | null} retryAfter the seconds after which the request can be sent again, if there were too many requests; null if
   *   it was rejected for another reason
   */
  constructor(message, status, setting, retryAfter) {
    super(message);
    this.status = status;
    this.setting = setting;
    this.retryAfter = retryAfter;
  }
}

/**
 * Returns the seconds after which a rejected request can be sent again. Returns null if it was not rejected because of too many requests.
 * A full storage has the status 429, too, but waiting does not help then, and the response does not have the header.
 * @param {Response} answer
 */
function retryAfter(answer) {
  const header = answer.headers.get("Retry-After");
  if (answer.status !== 429 || header === null) return null;
  const seconds = Number(header);
  return seconds >= 0 ? Math.max(1, seconds) : null;
}

/**
 * Reads the JSON of a response.
 * @param {Response} answer
 * @returns {Promise<any>} rejected with a {@link Rejection} if the status is an error
 */
export async function readJson(answer) {
  const said = await answer.json().catch(() => null);
  if (answer.ok && said !== null) return said;
  const message = said?.error?.message ?? `The server answered with status ${answer.status}. Please try again.`;
  throw new Rejection(message, answer.status, said?.error?.setting ?? null, retryAfter(answer));
}

/**
 * Returns the message for a request that failed.
 * @param {unknown} error
 */
export function reason(error) {
  if (error instanceof Rejection) return error.message;
  return error instanceof DOMException && READ_ERRORS.includes(error.name) ? UNREADABLE : NO_ANSWER;
}

/**
 * Returns whether a request that failed can succeed later without a change.
 * @param {unknown} error
 */
export function maySucceedLater(error) {
  if (error instanceof Rejection) return error.status >= 500 || LATER_STATUSES.includes(error.status);
  return reason(error) === NO_ANSWER;
}
