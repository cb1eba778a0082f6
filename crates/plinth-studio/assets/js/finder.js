// Finds settings by words in their labels, descriptions and names.

/** Returns the text of a control without the caption of its picture, which lists values. */
function wordsOf(control) {
  return [...control.children].filter((part) => !part.matches(".example")).map((part) => part.textContent).join(" ");
}

/**
 * @param {HTMLInputElement} input
 * @param {HTMLFormElement} form
 */
export function finder(input, form) {
  const groups = [...form.querySelectorAll(".group[data-group]")].map((root) => ({
    root,
    wasOpen: root.open,
    title: root.querySelector(".group-title").textContent.toLowerCase(),
    controls: [...root.querySelectorAll(".control")].map((control) => ({ control, text: `${control.dataset.key} ${wordsOf(control)}`.toLowerCase() })),
  }));
  const none = form.querySelector(".nothing-found");
  let isFinding = false;
  const find = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const fits = (text) => words.every((word) => text.includes(word));
    if (words.length > 0 && !isFinding) for (const group of groups) group.wasOpen = group.root.open;
    let found = 0;
    for (const group of groups) {
      const isWhole = words.length === 0 || fits(group.title);
      let shown = 0;
      for (const { control, text } of group.controls) {
        control.hidden = !isWhole && !fits(text);
        if (!control.hidden) shown += 1;
      }
      group.root.hidden = shown === 0;
      group.root.open = words.length > 0 ? shown > 0 : isFinding ? group.wasOpen : group.root.open;
      found += shown;
    }
    none.hidden = found > 0;
    isFinding = words.length > 0;
  };
  input.addEventListener("input", find);
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || input.value === "") return;
    input.value = "";
    find();
  });
}
