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
import { isText, newId, orBadRequest, readBody } from "./_body.ts";

const CONTENT_CHARACTERS_MAX = 4_000;
const NAME_CHARACTERS_MAX = 100;

/** One read, and for a message that is new one write. */
export const chatRoutes: readonly Route[] = [
  { method: "GET", path: "/api/chat/:thread", handle: load },
  { method: "POST", path: "/api/chat/:thread", handle: append },
];

async function load(context: RouteContext): Promise<Response> {
  const { thread = "" } = context.params;
  const chats = chatsOf(context, thread);
  if (chats instanceof Response) return chats;
  const { damaged, ...conversation } = await chats.load(thread);
  return damaged ? unreadable() : answerJson({ thread, ...conversation });
}

async function append(context: RouteContext): Promise<Response> {
  const { thread = "" } = context.params;
  const chats = chatsOf(context, thread);
  if (chats instanceof Response) return chats;
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
  const id = body.id ?? `m${newId(context)}`;
  if (!isText(id, NAME_CHARACTERS_MAX)) {
    const message = `Id must be a text of 1 to ${NAME_CHARACTERS_MAX} characters`;
    return errorResponse(400, "badId", message);
  }
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

function chatsOf(context: RouteContext, thread: string): Conversations | Response {
  const { kv } = context;
  if (!isText(thread, NAME_CHARACTERS_MAX)) {
    const message = `Thread must be a name of 1 to ${NAME_CHARACTERS_MAX} characters`;
    return errorResponse(400, "badThread", message);
  }
  if (!kv) return noStore();
  return context.once("chats", () => new Conversations(kv, optionsOf(context)));
}

function unreadable(): Response {
  return errorResponse(409, "unreadable", "What is stored under this name is no conversation");
}
