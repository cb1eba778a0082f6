// The preview of the composer, drawn by the same renderer as the videos: a small picture while settings change, and the full
// picture after a pause. Only one request is sent at a time, so that a slow renderer is never behind by more than one picture.

import { numberDecals } from "./decals.js";
import { el, readJson, reason } from "./dom.js";

const SMALL = 640;
export const FULL = 1280;
/** Time between the arrival of a small picture and the request for the full picture, if nothing changes in the meantime. */
const REST_MS = 600;
/** Identifies this page, so that other pages of the account do not replace its requests. */
const PAGE = [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

export class Preview {
  #wanted = null;
  #isBusy = false;
  #rest = 0;
  #turn = Promise.resolve();
  /**
   * Changes the body of a request, so that the picture shows another camera than the camera of the order.
   * @type {((body: URLSearchParams) => void) | null}
   */
  view = null;
  /**
   * The body of the request for the shown picture.
   * @type {URLSearchParams | null}
   */
  shown = null;

  /**
   * @param {HTMLFormElement} form
   * @param {HTMLElement} stage
   * @param {HTMLElement} scrubber
   * @param {HTMLElement} state shows what the preview is doing
   */
  constructor(form, stage, scrubber, state) {
    this.form = form;
    this.stage = stage;
    this.address = form.dataset.preview;
    this.position = scrubber.querySelector("input");
    this.state = state;
    this.isMoved = false;
    this.isPlaying = false;
    this.position.addEventListener("input", () => {
      this.isMoved = true;
      this.changed();
    });
  }

  /** Whether a picture is being drawn. */
  get isBusy() {
    return this.#isBusy;
  }

  /** Must be called after each change. Requests a small picture at once and the full picture later. */
  changed() {
    clearTimeout(this.#rest);
    this.#ask(SMALL);
  }

  /** Shows a message beside the picture. */
  say(text) {
    this.state.textContent = text;
  }

  /** Shows the progress of drawing. Does nothing during playback, because screen readers announce each change of this text. */
  #progress(text) {
    if (!this.isPlaying) this.say(text);
  }

  /**
   * Moves the slider to a time of the video.
   * @param {number} share from 0 to 1
   */
  goTo(share) {
    this.position.value = String(share);
    this.position.dispatchEvent(new Event("input"));
  }

  /** Returns the body of a request for a picture with the settings of the form. */
  body() {
    const body = new URLSearchParams(/** @type {any} */ (new FormData(this.form)));
    this.aim(body);
    return body;
  }

  /** Adds the current camera and time to the body of a request. */
  aim(body) {
    this.view?.(body);
    if (this.isMoved) body.set("position", this.position.value);
  }

  #ask(longest) {
    this.#wanted = longest;
    if (!this.#isBusy) this.#work();
  }

  async #work() {
    this.#isBusy = true;
    while (this.#wanted !== null) {
      const longest = this.#wanted;
      this.#wanted = null;
      await this.#draw(longest);
      // The time begins when the small picture has arrived. A full picture that is requested earlier would delay the next change.
      if (longest === SMALL && this.#wanted === null) this.#rest = setTimeout(() => this.#ask(FULL), REST_MS);
    }
    this.#isBusy = false;
  }

  async #draw(longest) {
    const body = this.body();
    this.#progress("Drawing…");
    const begin = performance.now();
    const picture = await this.picture(body, longest);
    if (!picture) {
      this.form.dispatchEvent(new Event("unpreviewed"));
      return;
    }
    const earlier = this.stage.querySelector(":scope > img, :scope > .no-picture");
    if (earlier) earlier.replaceWith(picture);
    else this.stage.prepend(picture);
    if (earlier?.src?.startsWith("blob:")) URL.revokeObjectURL(earlier.src);
    this.shown = body;
    const seconds = `${((performance.now() - begin) / 1000).toFixed(1)} s`;
    this.#progress(longest === FULL ? `Drawn in ${seconds}` : `Draft, ${seconds}`);
    this.form.dispatchEvent(new CustomEvent("previewed", { detail: longest }));
  }

  /**
   * Sends a request after the previous one was answered, because a newer request of the page replaces an earlier one on the
   * server.
   * @param {string} address
   * @param {URLSearchParams} body
   * @param {AbortSignal} [signal]
   */
  #send(address, body, signal) {
    body.set("page", PAGE);
    const sent = this.#turn.then(() => fetch(address, { method: "POST", headers: { Accept: "application/json" }, body, signal }));
    this.#turn = sent.then(() => undefined, () => undefined);
    return sent;
  }

  /**
   * Requests a picture, and returns it without showing it. Returns null if the request fails, and then shows the reason beside
   * the picture.
   * @param {URLSearchParams} body
   * @param {number} longest
   * @returns {Promise<HTMLImageElement | null>}
   */
  async picture(body, longest) {
    const sent = new URLSearchParams(body);
    sent.set("longest", String(longest));
    if (longest === SMALL) sent.set("draft", "on");
    try {
      const answer = await this.#send(this.address, sent);
      if (!answer.ok) {
        // The reason of an error in the settings is shown beside the price instead.
        this.say(answer.status === 400 ? "No preview" : await readJson(answer).catch(reason));
        return null;
      }
      const picture = el("img", { src: URL.createObjectURL(await answer.blob()), alt: "Preview of the render", draggable: false });
      await picture.decode();
      return picture;
    } catch {
      this.say("No answer");
      return null;
    }
  }

  /**
   * Asks the server a question about the frame that `body` describes.
   * @param {"surfaces" | "cameras"} question
   * @param {URLSearchParams} body
   * @param {AbortSignal} [signal]
   */
  async answer(question, body, signal) {
    return readJson(await this.#send(`${this.address}/${question}`, body, signal));
  }

  /**
   * Asks which surfaces are visible at a point of the picture, and which camera the picture has.
   * @param {number} x fraction of the picture from the left
   * @param {number} y fraction of the picture from the top
   * @param {AbortSignal} [signal]
   */
  async surfacesAt(x, y, signal) {
    const body = new URLSearchParams(this.shown ?? this.body());
    body.set("x", String(x));
    body.set("y", String(y));
    const meant = numberDecals(body);
    const said = await this.answer("surfaces", body, signal);
    const surfaces = said.surfaces.map((surface) => (surface.decal === null ? surface : { ...surface, ...meant(surface.decal) }));
    return { ...said, surfaces };
  }

  /**
   * Asks which surfaces would be visible at a point of the picture without decals, because a decal may hide the surface below it.
   * @param {number} x fraction of the picture from the left
   * @param {number} y fraction of the picture from the top
   */
  surfacesBelowDecals(x, y) {
    const body = new URLSearchParams(this.shown ?? this.body());
    body.delete("decals");
    body.set("x", String(x));
    body.set("y", String(y));
    return this.answer("surfaces", body);
  }

  /** Returns the rectangle of the picture in the window. The stage that contains the picture may be wider or higher. */
  box() {
    const picture = this.stage.querySelector(":scope > img");
    const { left, top, width, height } = (picture ?? this.stage).getBoundingClientRect();
    const scale = picture?.naturalWidth ? Math.min(width / picture.naturalWidth, height / picture.naturalHeight) : 1;
    const [w, h] = picture?.naturalWidth ? [picture.naturalWidth * scale, picture.naturalHeight * scale] : [width, height];
    return { left: left + (width - w) / 2, top: top + (height - h) / 2, width: w, height: h };
  }
}
