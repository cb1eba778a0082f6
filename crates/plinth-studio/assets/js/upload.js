// Uploads files one after another, and shows the progress. Does not send a file if the workspace already has a model
// with the same file. Uploads that failed, for example because the session has ended, can be sent again.

import { el, maySucceedLater, need, reason } from "./dom.js";
import { showModels } from "./library.js";
import { countUpload, isUploading, post, sendWhenAllowed, upload } from "./session.js";

/** Maximum size in bytes of a file that is hashed before its upload. Hashing needs the whole file in memory. */
const HASHED_BYTES = 256 * 1024 * 1024;

const form = document.querySelector("form.upload");
if (form) {
  const list = need(".transfers", form);
  const input = need("input[type=file]", form);
  const token = () => need("input[name=form_token]", form).value;
  const told = need(".uploaded", form);
  let last = Promise.resolve();
  /**
   * Transfers that failed and may succeed later.
   * @type {Set<Transfer>}
   */
  const failed = new Set();
  const again = el("button", { type: "button", className: "again", hidden: true, textContent: "Try the failed uploads again" });
  list.after(again);

  const forgetFailed = () => {
    failed.clear();
    again.hidden = true;
  };

  /**
   * Runs a transfer after those before it. After the last one, shows the new models.
   * @param {Transfer} transfer
   */
  const schedule = (transfer) => {
    // Files that wait for earlier ones count as uploads, too.
    const own = countUpload(last.then(() => transfer.run()));
    last = own;
    own.then(async () => {
      if (own !== last || (await showModels())) return;
      list.append(el("li", {}, el("a", { href: location.href, textContent: "Show the models" })));
    });
  };

  again.addEventListener("click", () => {
    const transfers = [...failed].map(({ file, row }) => {
      const transfer = new Transfer(file);
      row.replaceWith(transfer.row);
      return transfer;
    });
    forgetFailed();
    // The pressed button is hidden now.
    transfers[0]?.button.focus();
    for (const transfer of transfers) schedule(transfer);
  });

  /**
   * @param {Iterable<File>} files
   * @param {string[]} [folders] names of folders, which cannot be uploaded
   */
  const enqueue = (files, folders = []) => {
    // The results of earlier files are shown until the user sends other files.
    if (!isUploading()) {
      list.replaceChildren();
      forgetFailed();
    }
    for (const name of folders) {
      list.append(el("li", {}, el("span", { textContent: name }), el("span", { className: "bad", textContent: "This is a folder. Drop the files in it." })));
    }
    for (const file of files) {
      const transfer = new Transfer(file);
      list.append(transfer.row);
      schedule(transfer);
    }
  };

  class Transfer {
    #cancelled = new AbortController();
    #isRunning = false;
    #hasWaited = false;

    /** @param {File} file */
    constructor(file) {
      this.file = file;
      // Browsers may record the state of a file, by which they notice later changes, not before its size is read.
      this.size = file.size;
      this.bar = el("progress", { max: 1, value: 0, "aria-label": `Progress of ${file.name}` });
      this.state = el("span", { className: "quiet", textContent: "waits" });
      this.name = el("span", { textContent: file.name });
      this.button = el("button", { type: "button", "aria-label": `Cancel the upload of ${file.name}`, textContent: "Cancel" });
      this.button.addEventListener("click", () => this.cancel());
      this.row = el("li", {}, this.name, this.state, this.button, this.bar);
    }

    async run() {
      const { signal } = this.#cancelled;
      if (signal.aborted) return;
      this.#isRunning = true;
      const allowed = (send) => sendWhenAllowed(send, (message) => this.wait(message), signal);
      try {
        this.end(await allowed(() => this.known()) ?? await allowed(() => this.send()));
      } catch (error) {
        if (signal.aborted) this.showCancelled();
        else this.fail(error);
      }
    }

    /** @param {string} message */
    wait(message) {
      this.state.textContent = `waiting: ${message}`;
      if (!this.#hasWaited) told.textContent = `${this.file.name} is waiting: ${message}`;
      this.#hasWaited = true;
    }

    cancel() {
      this.#cancelled.abort();
      // A running transfer shows its result itself: the server may have received the whole file already.
      if (!this.#isRunning) this.showCancelled();
    }

    showCancelled() {
      this.endRow();
      this.state.textContent = "cancelled";
      told.textContent = `${this.file.name} cancelled`;
    }

    /** Removes the progress and the button. If the button has the focus, moves the focus to the next button. */
    endRow() {
      const isFocused = document.activeElement === this.button;
      this.bar.remove();
      this.button.remove();
      if (isFocused) (list.querySelector("button") ?? input).focus();
    }

    /** @param {unknown} error */
    fail(error) {
      const message = reason(error);
      this.endRow();
      this.state.remove();
      this.row.append(el("span", { className: "bad", textContent: message }));
      told.textContent = `${this.file.name}: ${message}`;
      if (!maySucceedLater(error)) return;
      failed.add(this);
      again.hidden = false;
    }

    /** Returns the model that has the same file; null if there is no such model, or if the file cannot be hashed. */
    async known() {
      if (!window.crypto?.subtle || this.size > HASHED_BYTES || !this.file.name.toLowerCase().endsWith(".glb")) return null;
      this.state.textContent = "is compared";
      const hash = await crypto.subtle.digest("SHA-256", await this.file.arrayBuffer());
      const sha256 = [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
      const { exists, modelId } = await post(form.dataset.check, new URLSearchParams({ form_token: token(), sha256 }), this.#cancelled.signal);
      return exists ? { modelId, duplicate: true } : null;
    }

    /** Sends the file. */
    send() {
      const body = new FormData();
      body.append("form_token", token());
      body.append("file", this.file);
      return upload(form.action, body, (fraction) => {
        this.bar.value = fraction;
        this.state.textContent = fraction < 1 ? `${Math.floor(100 * fraction)} %` : "is checked";
      }, this.#cancelled.signal);
    }

    end({ modelId, duplicate }) {
      this.endRow();
      this.state.className = "good";
      this.state.textContent = duplicate ? "was there already" : "is a model now";
      told.textContent = `${this.file.name} ${this.state.textContent}`;
      this.name.replaceWith(el("a", { href: form.dataset.model + encodeURIComponent(modelId), textContent: this.file.name }));
    }
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    enqueue(input.files);
    form.reset();
  });
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    document.documentElement.classList.add("dropping");
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) document.documentElement.classList.remove("dropping");
  });
  document.addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    document.documentElement.classList.remove("dropping");
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.() ?? null);
    const folders = entries.filter((entry) => entry?.isDirectory).map((entry) => entry.name);
    // Browsers list a folder as a file, too, so folders are removed from the list.
    enqueue([...event.dataTransfer.files].filter((file) => !folders.includes(file.name)), folders);
  });
}
