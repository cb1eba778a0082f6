// Shows times in the time zone of the browser.

const clock = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

/**
 * Converts the times in a part of the page to the time zone of the browser. The server writes times in UTC.
 * @param {ParentNode} part
 */
export function showTimes(part) {
  for (const time of /** @type {NodeListOf<HTMLTimeElement>} */ (part.querySelectorAll("time[datetime]"))) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    time.title = time.textContent ?? "";
    time.textContent = clock.format(at);
  }
}
