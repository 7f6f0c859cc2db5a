import { element, say, send } from "./common.js";

const form = document.querySelector("#search");
const input = form.elements.q;
const results = document.querySelector("#results");
const session = crypto.randomUUID();
let asked = 0;
let timer;

async function search() {
  const q = input.value.trim();
  const turn = ++asked;
  if (q === "") {
    results.replaceChildren();
    say(form, "");
    return;
  }
  const { ok, body, message } = await send("/api/search", { q, session });
  if (turn !== asked) return;
  say(form, ok ? `${body.count} ${body.count === 1 ? "page" : "pages"}` : message, ok);
  results.replaceChildren(...(body?.results ?? []).map(({ path, title, excerpt }) => {
    const link = element("a", title);
    link.href = path;
    return element("li", link, element("p", `${excerpt}…`));
  }));
}

input.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(search, 250);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(timer);
  search();
});

const terms = document.querySelector("#terms");
terms.addEventListener("submit", async (event) => {
  event.preventDefault();
  const token = terms.elements.token.value;
  const { ok, body, message } = await send("/api/keywords?days=7&n=20", undefined, token);
  say(
    terms,
    ok ? `Since ${body.from}: ${body.total} counted, ${body.redacted} withheld` : message,
    ok,
  );
  if (!ok) return;
  const head = element(
    "tr",
    ...["Term", "Searches", "Without a result"].map((text, index) => {
      const cell = element("th", text);
      cell.scope = "col";
      if (index > 0) cell.className = "number";
      return cell;
    }),
  );
  const rows = body.terms.map(({ term, count, zeroHits }) => {
    const name = element("th", term);
    name.scope = "row";
    return element(
      "tr",
      name,
      ...[count, zeroHits].map((number) => {
        const cell = element("td", String(number));
        cell.className = "number";
        return cell;
      }),
    );
  });
  const table = element("table", element("thead", head), element("tbody", ...rows));
  terms.nextElementSibling.replaceChildren(table);
});
