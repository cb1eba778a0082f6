// Shows and changes the time of the picture: the clock beside the slider, playback, and the repetitions of the animation in the
// video.

import { el } from "./dom.js";

/** Maximum number of repetitions of an animation that are shown one by one. */
const MOST_RUNS = 60;

const seconds = (number) => `${number.toFixed(1)} s`;

/**
 * @param {HTMLElement} box
 * @param {HTMLElement} clock
 * @param {HTMLButtonElement} play
 * @param {import("./preview.js").Preview} preview
 * @param {import("./values.js").Values} values
 * @param {Map<string, number>} clips lengths of the model's animations in seconds, by name
 */
export function timeline(box, clock, play, preview, values, clips) {
  const length = () => Math.max(0.01, Number(values.get("length")) || 6);
  const share = () => (preview.isMoved ? Number(preview.position.value) : 0);

  // During playback, each picture shows the time at which it is requested. So with a slow renderer, playback skips pictures, but
  // keeps its speed.
  let begin = null;
  const step = () => {
    if (begin !== null) preview.goTo((((performance.now() - begin) / 1000) % length()) / length());
  };
  const stop = () => {
    begin = null;
    preview.isPlaying = false;
    play.textContent = "Play";
    preview.form.removeEventListener("previewed", step);
  };
  play.addEventListener("click", () => {
    if (begin !== null) {
      stop();
      return;
    }
    begin = performance.now() - (share() >= 1 ? 0 : share() * length() * 1000);
    preview.isPlaying = true;
    play.textContent = "Pause";
    preview.form.addEventListener("previewed", step);
    step();
  });
  preview.form.addEventListener("unpreviewed", stop);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) stop();
  });
  preview.position.addEventListener("pointerdown", stop);
  preview.position.addEventListener("keydown", stop);

  const clipName = el("select", { "aria-label": "Animation" });
  const own = values.controls.get("animation").inputs[0];
  if (clips.size > 0) {
    clipName.append(...[.../** @type {any} */ (own).options].map((option) => el("option", { value: option.value, textContent: option.value === "" ? "No animation" : option.textContent })));
    clipName.addEventListener("change", (event) => {
      event.stopPropagation();
      values.set("animation", clipName.value || undefined);
      values.commit();
    });
  }
  const track = el("div", { className: "runs", "aria-hidden": "true" });
  const about = el("span", { className: "quiet" });
  if (clips.size > 0) box.append(el("div", { className: "clip" }, clipName, about), track);

  const show = () => {
    const [whole, at] = [length(), share() * length()];
    clock.textContent = `${seconds(at)} of ${seconds(whole)}`;
    preview.position.setAttribute("aria-valuetext", clock.textContent);
    if (clips.size === 0) return;
    const name = values.get("animation");
    clipName.value = name ?? "";
    const speed = Math.abs(Number(values.get("animationSpeed") ?? 1));
    const clip = name === "*" ? [...clips.values()][0] : clips.get(name);
    const run = clip === undefined || speed === 0 ? 0 : clip / speed;
    track.hidden = run <= 0;
    if (run <= 0) {
      about.textContent = name ? "The model has no such animation" : "";
      return;
    }
    about.textContent = `${seconds((at % run) * speed)} of ${seconds(clip)}; runs ${(whole / run).toFixed(1)} times`;
    const count = Math.min(MOST_RUNS, Math.ceil(whole / run));
    if (track.childElementCount !== count) track.replaceChildren(...Array.from({ length: count }, () => el("span")));
    [...track.querySelectorAll("span")].forEach((part, i) => {
      part.style.left = `${(100 * i * run) / whole}%`;
      part.style.width = `${(100 * Math.min(run, whole - i * run)) / whole}%`;
      part.classList.toggle("now", Math.min(count - 1, Math.floor(at / run)) === i);
    });
  };
  preview.position.addEventListener("input", show);
  for (const key of ["length", "animation", "animationSpeed"]) values.watch(key, show);
  show();
}
