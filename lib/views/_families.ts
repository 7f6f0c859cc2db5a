/**
 * Who sends visitors under several names: one line a family, first its key, then hosts (their
 * subdomains are meant too), app packages and short names.
 *
 * @module
 */

const FAMILIES = `\
gmail mail.google.com com.google.android.gm
google com.google.android.googlequicksearchbox com.google.android.apps.searchlite com.google.android.apps.magazines com.google.android.youtube.tv
gemini gemini.google.com bard.google.com
bing bing.com com.microsoft.bing
yahoo com.yahoo.mobile.client.android.search
duckduckgo duckduckgo.com duck.com com.duckduckgo.mobile.android ddg
baidu baidu.com
yandex ya.ru
ecosia ecosia.org
facebook facebook.com fb.com fb.me fb.watch com.facebook.katana com.facebook.lite com.facebook.orca fb
instagram instagram.com com.instagram.android ig
threads threads.net threads.com com.instagram.barcelona
whatsapp whatsapp.com wa.me com.whatsapp
twitter twitter.com t.co x.com com.twitter.android x
linkedin linkedin.com lnkd.in com.linkedin.android
reddit reddit.com redd.it com.reddit.frontpage
pinterest pin.it com.pinterest
youtube youtube.com youtu.be com.google.android.youtube
tiktok tiktok.com com.zhiliaoapp.musically com.ss.android.ugc.trill
telegram telegram.org telegram.me t.me org.telegram.messenger org.telegram.messenger.web org.telegram.plus
discord discord.com discordapp.com discord.gg com.discord
slack slack.com com.slack
bluesky bsky.app bsky.social xyz.blueskyweb.app
mastodon joinmastodon.org org.joinmastodon.android
vk vk.com vk.ru com.vkontakte.android
snapchat snapchat.com com.snapchat.android
outlook outlook.live.com outlook.office.com outlook.office365.com com.microsoft.office.outlook
chatgpt chatgpt.com chat.openai.com com.openai.chatgpt
claude claude.ai com.anthropic.claude
perplexity perplexity.ai ai.perplexity.app.android
copilot copilot.microsoft.com com.microsoft.copilot`;

/** Families with a site in every country. */
const COUNTRIES = /(?:^|\.)(google|yahoo|yandex|pinterest)\.(?:com|[a-z]{2}|com?\.[a-z]{2})$/;

/** The table of families, ready for lookups. */
export interface Families {
  /** The family of a host, by itself or by one of its parents, or of a short name. */
  host(name: string): string | undefined;
  /** The family of an app's package. */
  app(name: string): string | undefined;
}

/**
 * Builds the table.
 *
 * @returns The lookups.
 */
export function createFamilies(): Families {
  const table = new Map<string, string>();
  for (const line of FAMILIES.split("\n")) {
    const names = line.split(" ");
    for (const name of names) table.set(name, names[0] ?? name);
  }
  return {
    app: (name) => table.get(name),
    host(name) {
      for (let rest = name, dot = 0; dot >= 0; rest = rest.slice(dot + 1)) {
        const family = table.get(rest);
        if (family !== undefined) return family;
        dot = rest.indexOf(".");
      }
      return COUNTRIES.exec(name)?.[1];
    },
  };
}
