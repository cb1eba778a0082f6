// Counts the chosen items of a list whose items can be changed together, and chooses all of them.

/**
 * Shows the number of chosen items below their list, and updates it after each change. Connects the checkbox that chooses all items,
 * if there is one.
 * @param {HTMLFormElement} bulk the form with the list
 * @param {string} item the word for one item
 */
export function countChosen(bulk, item) {
  const all = bulk.querySelector(".choose-all input");
  const boxes = () => [...bulk.querySelectorAll(".pick input")];
  const show = () => {
    const states = boxes().map((box) => box.checked);
    const chosen = states.filter(Boolean).length;
    if (all) {
      all.checked = chosen > 0 && chosen === states.length;
      all.indeterminate = chosen > 0 && chosen < states.length;
    }
    const text = chosen === 0 ? `With the chosen ${item}s` : chosen === 1 ? `1 ${item} chosen` : `${chosen} ${item}s chosen`;
    const shown = bulk.querySelector(".count");
    if (shown && shown.textContent !== text) shown.textContent = text;
  };
  bulk.addEventListener("change", (event) => {
    if (all && event.target === all) for (const box of boxes()) box.checked = all.checked;
    show();
  });
  // Otherwise, the Enter key on a checkbox would press the first button of the form.
  bulk.addEventListener("keydown", (/** @type {any} */ event) => {
    if (event.key === "Enter" && event.target.type === "checkbox") event.preventDefault();
  });
  show();
}
