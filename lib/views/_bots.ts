/**
 * Who says of itself that it is no person.
 *
 * @module
 */

import { isbot } from "isbot";

/** Longer user agents are judged by their beginning. */
const AGENT_CHARACTERS_MAX = 512;
/** How many verdicts an isolate remembers, in memory only. */
const AGENTS_MAX = 128;

/** Tools and agents that name themselves and that `isbot` does not know. */
const BOTS =
  /compatible;(?!\s*(?:msie|konqueror))|-user\b|anthropic|browserbase|checkly|dart:io|debugbear|gtmetrix|microsoft office|ms-?office|nikto|nova-?act|openai|percy\/|powershell|puppeteer|rendertron|screenshot|siteimprove|zenrows/i;
/** What looks like a bot to `isbot` and is not: phones, and what in-app browsers say of themselves. */
const PEOPLE = /\w*cubot\w*|\[fb\w+\/[^\]]*\]?|feedly\/\S+|smartnews|com\.google\.android[\w.]*/gi;

/**
 * Prepares the test for self-declared bots. It remembers the last verdicts, since `isbot` is slow.
 *
 * @returns Whether a user agent is a bot's. None at all is.
 */
export function createBotTest(): (agent: string | null) => boolean {
  const known = new Map<string, boolean>();
  return (agent) => {
    if (agent === null) return true;
    const before = known.get(agent);
    if (before !== undefined) return before;
    const text = agent.slice(0, AGENT_CHARACTERS_MAX).trim();
    const bot = text === "" || BOTS.test(text) || isbot(text) && !isPerson(text);
    if (known.size >= AGENTS_MAX) known.clear();
    if (agent.length <= AGENT_CHARACTERS_MAX) known.set(agent, bot);
    return bot;
  };
}

/** Whether nothing of a bot is left without the words that people's phones and apps use. */
function isPerson(text: string): boolean {
  const rest = text.replace(PEOPLE, "").trim();
  return rest !== "" && rest !== text && !isbot(rest);
}
