import { say, send } from "./common.js";

const form = document.querySelector("#waitlist");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  say(form, "Sending…");
  const { ok, message } = await send("/api/waitlist", { email: form.elements.email.value });
  if (ok) form.reset();
  say(form, ok ? "Thank you. You are on the list." : message, ok);
  button.disabled = false;
});
