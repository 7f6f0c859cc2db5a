import { element, say, send } from "./common.js";

const form = document.querySelector("#chat");
const list = document.querySelector("#messages");
let thread = localStorage.getItem("thread") ?? begin();

function begin() {
  const name = crypto.randomUUID();
  localStorage.setItem("thread", name);
  return name;
}

function show(messages) {
  list.replaceChildren(...messages.map(({ role, content }) => {
    const item = element("li", content);
    item.dataset.role = role;
    return item;
  }));
}

async function load() {
  const { ok, body, message } = await send(`/api/chat/${thread}`);
  if (ok) show(body.messages);
  else say(form, message, ok);
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  const turn = { id: crypto.randomUUID(), content: form.elements.content.value };
  const { ok, body, message } = await send(`/api/chat/${thread}`, turn);
  if (ok) {
    form.reset();
    show(body.messages);
    say(form, body.reason === "budget" ? "Kept for now; it will be stored later." : "");
  } else say(form, message, ok);
  button.disabled = false;
});

document.querySelector("#again").addEventListener("click", () => {
  thread = begin();
  show([]);
  form.elements.content.focus();
});

load();
