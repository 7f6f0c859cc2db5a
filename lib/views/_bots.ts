/**
 * Who says of itself that it is no person.
 *
 * @module
 */

import { isbot } from "isbot";
import { remember } from "./_remember.ts";

/** Longer user agents are judged by their beginning. */
const AGENT_CHARACTERS_MAX = 512;

/** Tools and agents that name themselves and that `isbot` does not know. */
const BOTS =
  /compatible;(?!\s*(?:msie|konqueror))|-user\b|anthropic|browserbase|checkly|dart:io|debugbear|gtmetrix|microsoft office|ms-?office|nikto|nova-?act|openai|percy\/|powershell|puppeteer|rendertron|screenshot|siteimprove|zenrows/i;
/** What looks like a bot to `isbot` and is not: phones, and what in-app browsers say of themselves. */
const PEOPLE = /\w*cubot\w*|\[fb\w+\/[^\]]*\]?|feedly\/\S+|smartnews|com\.google\.android[\w.]*/gi;

/**
 * Prepares the test for self-declared bots. It remembers the last verdicts, since `isbot` is slow.
 *
 * @returns Whether a user agent is a bot's. An empty one is.
 */
export function createBotTest(): (agent: string) => boolean {
  return remember((agent) => {
    const text = agent.slice(0, AGENT_CHARACTERS_MAX).trim();
    // Whoever says more than what people's phones and apps say must say it of a bot.
    const rest = text.replace(PEOPLE, "").trim();
    return text === "" || BOTS.test(text) || isbot(text) && (rest === "" || isbot(rest));
  });
}
