// Creates and finds elements. Text is always set as text, never parsed as HTML.

/**
 * Creates an element.
 * @param {string} name
 * @param {Record<string, unknown>} [properties] properties of the element; those with a dash are attributes
 * @param {...(Node | string | null)} children
 * @returns {HTMLElement}
 */
export function el(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes("-")) made.setAttribute(key, String(value));
    else made[key] = value;
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

/**
 * Reads the JSON of an answer. A page instead of JSON is the answer to somebody who is no longer signed in, for example.
 * @param {Response} answer
 */
export async function readJson(answer) {
  const said = await answer.json().catch(() => null);
  if (!answer.ok || said === null) throw new Error(said?.error?.message ?? "The server does not answer. Please reload the page.");
  return said;
}
