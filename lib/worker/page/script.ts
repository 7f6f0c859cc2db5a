/**
 * The script that refreshes the numbers of an open page. Without it the page is complete.
 *
 * Once a minute, while the page is visible and nobody is using a part of it, it asks for the page
 * again and exchanges the content.
 *
 * @module
 */

/** The script's text, as it stands in the page and in the hash of its policy. */
export const REFRESH_SCRIPT = `setInterval(async () => {
  const main = document.querySelector("main");
  if (document.hidden || main.querySelector("[open],:focus")) return;
  const answer = await fetch(location.href);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (answer.ok) main.replaceWith(page.querySelector("main"));
}, 60000);`;
