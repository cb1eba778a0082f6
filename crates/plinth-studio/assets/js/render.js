// The page of a render: updates the state, and shows the files as soon as they are ready.

const live = document.querySelector("[data-events]");
if (live) {
  const events = new EventSource(live.dataset.events);
  let first = null;
  events.addEventListener("message", (event) => {
    const { status, label, isFinal } = JSON.parse(event.data);
    const shown = document.querySelector(".head .status");
    shown.className = `status ${status}`;
    shown.textContent = label;
    first ??= status;
    // The poster is ready before the video.
    if (isFinal || (status !== first && status === "video-processing")) {
      events.close();
      location.reload();
    }
  });
}
