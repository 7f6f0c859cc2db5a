/**
 * Who sends visitors under several names: one line a family, first its key, then hosts (their
 * subdomains are meant too), app packages and short names. `key.com`, `com.key` and
 * `com.key.android` go without saying.
 *
 * @module
 */

const FAMILIES = `\
gmail mail.google.com com.google.android.gm
google com.google.android.googlequicksearchbox
bing com.microsoft.bing
yahoo com.yahoo.mobile.client.android.search
duckduckgo duck.com com.duckduckgo.mobile.android ddg
yandex ya.ru
facebook fb.com fb.me fb.watch com.facebook.katana com.facebook.lite com.facebook.orca fb
instagram ig
threads threads.net com.instagram.barcelona
whatsapp wa.me
twitter t.co x.com x
linkedin lnkd.in
reddit redd.it com.reddit.frontpage
pinterest pin.it
youtube youtu.be com.google.android.youtube
tiktok com.zhiliaoapp.musically com.ss.android.ugc.trill
telegram t.me telegram.me telegram.org org.telegram.messenger org.telegram.messenger.web
discord discord.gg discordapp.com
slack
snapchat
vk vk.ru com.vkontakte.android
bluesky bsky.app xyz.blueskyweb.app
outlook outlook.live.com outlook.office.com outlook.office365.com com.microsoft.office.outlook
chatgpt chat.openai.com com.openai.chatgpt
claude claude.ai com.anthropic.claude
perplexity perplexity.ai ai.perplexity.app.android`;

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
    const key = names[0] ?? "";
    names.push(`${key}.com`, `com.${key}`, `com.${key}.android`);
    for (const name of names) table.set(name, key);
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
