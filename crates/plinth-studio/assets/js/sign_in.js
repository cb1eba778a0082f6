// The sign-in page: keeps the part of the address after `#`, which names a place in the page that was requested. Browsers do not send
// this part to the server, and keep it when the server redirects them.

/** @type {HTMLFormElement} */
const form = document.querySelector("form.sign-in");
form.action += location.hash;
