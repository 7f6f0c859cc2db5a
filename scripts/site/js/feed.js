import { element, say, send } from "./common.js";

const list = document.querySelector("#items");
const more = document.querySelector("#more");
const form = document.querySelector("#post");
const status = document.querySelector("#status");
let cursor = null;

function itemOf({ title, text, url, atMs }) {
  const heading = element("strong", title ?? "News");
  const time = element("time", new Date(atMs).toLocaleString());
  time.dateTime = new Date(atMs).toISOString();
  time.className = "quiet";
  const item = element("li", heading, " ", time);
  if (text) item.append(element("p", text));
  if (url) {
    const link = element("a", url);
    link.href = url;
    item.append(element("p", link));
  }
  return item;
}

async function load(from) {
  more.disabled = true;
  const query = from === null ? "" : `?cursor=${encodeURIComponent(from)}`;
  const { ok, body, message } = await send(`/api/feed${query}`);
  more.disabled = false;
  if (!ok) {
    status.textContent = message;
    return;
  }
  if (from === null) list.replaceChildren();
  list.append(...body.items.map(itemOf));
  cursor = body.cursor;
  more.hidden = cursor === null;
  const last = cursor === null ? "That is all." : "";
  status.textContent = list.children.length === 0 ? "Nothing has been posted yet." : last;
}

more.addEventListener("click", () => load(cursor));
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { title, text, token } = form.elements;
  const post = { title: title.value, ...(text.value.trim() ? { text: text.value } : {}) };
  const { ok, message } = await send("/api/feed", post, token.value);
  say(form, ok ? "Posted." : message, ok);
  if (!ok) return;
  title.value = text.value = "";
  await load(null);
});

load(null);
