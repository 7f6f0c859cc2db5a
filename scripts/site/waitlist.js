const form = document.querySelector("#waitlist");
const status = form.querySelector(".status");

function say(text, kind) {
  status.textContent = text;
  status.dataset.kind = kind;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  say("Sending…", "ok");
  try {
    const response = await fetch(form.action, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ email: form.elements.email.value }),
    });
    if (response.ok) {
      form.reset();
      say("Thank you. You are on the list.", "ok");
    } else {
      const body = await response.json().catch(() => null);
      say(body?.error?.message ?? "That did not work. Please try again later.", "bad");
    }
  } catch {
    say("The site could not be reached. Please try again.", "bad");
  } finally {
    button.disabled = false;
  }
});
