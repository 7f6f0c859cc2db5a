/**
 * `/api/chat/:thread`: a conversation. `POST` (`{ content, id? }`) appends a message and its echo, `GET`
 * loads it. Whoever knows a thread's name can read it: the demo's names are random.
 *
 * @module
 */

import { Conversations } from "../../conversations.ts";
import {
  answerJson,
  errorResponse,
  noStore,
  optionsOf,
  type Route,
  type RouteContext,
} from "../route.ts";
import { isText, newId, orBadRequest, readBody, refuseText } from "./_body.ts";

const CONTENT_CHARACTERS_MAX = 4_000;
const NAME_CHARACTERS_MAX = 100;
const PATH = "/api/chat/:thread";

/** One read, and for a message that is new one write. */
export const chatRoutes: readonly Route[] = [
  { method: "GET", path: PATH, handle: (context) => withChats(context, load) },
  { method: "POST", path: PATH, handle: (context) => withChats(context, append) },
];

/** Handles a request to a conversation. */
type Handle = (context: RouteContext, thread: string, chats: Conversations) => Promise<Response>;

async function load(_context: RouteContext, thread: string, chats: Conversations) {
  const { damaged, ...conversation } = await chats.load(thread);
  return damaged ? unreadable() : answerJson({ thread, ...conversation });
}

async function append(context: RouteContext, thread: string, chats: Conversations) {
  const body = await readBody(context.request);
  if (body instanceof Response) return body;
  const content = body.content ?? body.text ?? body.message;
  if (typeof content === "string" && content.length > CONTENT_CHARACTERS_MAX) {
    const message = `Content must be at most ${CONTENT_CHARACTERS_MAX} characters`;
    return errorResponse(413, "tooLarge", message);
  }
  if (!isText(content, CONTENT_CHARACTERS_MAX)) {
    return errorResponse(400, "badContent", "Content must be a text that is not blank");
  }
  const name = body.id ?? `m${newId(context)}`;
  const refused = refuseText("Id", name, NAME_CHARACTERS_MAX);
  if (refused) return refused;
  const id = String(name);
  return await orBadRequest("badMessage", async () => {
    const reply = { id: `${id}-r`, role: "assistant", content };
    const turn = [{ id, role: "user", content }, reply];
    const { ctx } = context;
    const { pending: _, dropped, ...result } = await chats.append(thread, turn, { ctx });
    if (result.reason === "damaged") return unreadable();
    const late = /budget|store/.test(result.reason ?? "");
    const answer = { thread, ...result, dropped: dropped.length };
    const said = result.messages.find((message) => message.id === reply.id) ?? reply;
    return answerJson({ ...answer, reply: said }, late ? 202 : 200);
  });
}

/** Finds the conversation that a request names. */
async function withChats(context: RouteContext, handle: Handle): Promise<Response> {
  const { kv, params: { thread = "" } } = context;
  const refused = refuseText("Thread", thread, NAME_CHARACTERS_MAX);
  if (refused) return refused;
  if (!kv) return noStore();
  const chats = context.once("chats", () => new Conversations(kv, optionsOf(context)));
  return await handle(context, thread, chats);
}

function unreadable(): Response {
  return errorResponse(409, "unreadable", "What is stored under this name is no conversation");
}
