/** Asks the site's API; posts when there is a body. Never throws. */
export async function send(path, body, token) {
  const headers = {
    accept: "application/json",
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...(token ? { authorization: `Bearer ${token}` } : {}),
  };
  const post = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  try {
    const response = await fetch(path, { headers, ...post });
    const answer = await response.json().catch(() => null);
    const message = answer?.error?.message ?? "That did not work. Please try again later.";
    return { ok: response.ok && answer !== null, body: answer, message };
  } catch {
    return { ok: false, body: null, message: "The site could not be reached. Please try again." };
  }
}

/** Shows a form's status. */
export function say(form, text, ok = true) {
  const status = form.querySelector(".status");
  status.textContent = text;
  status.dataset.kind = ok ? "good" : "bad";
}

/** Makes an element; texts stay texts. */
export function element(name, ...children) {
  const made = document.createElement(name);
  made.append(...children);
  return made;
}
