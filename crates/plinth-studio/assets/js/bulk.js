// Counts the chosen items of a list whose items can be changed together.

/**
 * Shows the number of chosen items below their list, and updates it after each change.
 * @param {HTMLFormElement} bulk the form with the list
 * @param {string} item the word for one item
 */
export function countChosen(bulk, item) {
  const show = () => {
    const chosen = bulk.querySelectorAll(".pick input:checked").length;
    const text = chosen === 0 ? `With the chosen ${item}s` : chosen === 1 ? `1 ${item} chosen` : `${chosen} ${item}s chosen`;
    const shown = bulk.querySelector(".count");
    if (shown && shown.textContent !== text) shown.textContent = text;
  };
  bulk.addEventListener("change", show);
  // Otherwise, the Enter key on a checkbox would press the first button of the form.
  bulk.addEventListener("keydown", (/** @type {any} */ event) => {
    if (event.key === "Enter" && event.target.type === "checkbox") event.preventDefault();
  });
  show();
}
