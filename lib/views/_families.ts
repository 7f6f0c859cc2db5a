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
yahoo
duckduckgo com.duckduckgo.mobile.android
yandex ya.ru
facebook fb.com fb.me com.facebook.katana com.facebook.lite com.facebook.orca fb
instagram ig
threads threads.net com.instagram.barcelona
whatsapp wa.me
twitter t.co x.com x
linkedin lnkd.in
reddit redd.it com.reddit.frontpage
pinterest pin.it
youtube youtu.be com.google.android.youtube
tiktok com.zhiliaoapp.musically
telegram t.me telegram.org org.telegram.messenger
discord discordapp.com
slack
snapchat
vk vk.ru com.vkontakte.android
bluesky bsky.app
outlook outlook.live.com outlook.office.com com.microsoft.office.outlook
chatgpt chat.openai.com com.openai.chatgpt
claude claude.ai
perplexity perplexity.ai`;

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
    for (const name of [...names, `${key}.com`, `com.${key}`, `com.${key}.android`]) {
      table.set(name, key);
    }
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
