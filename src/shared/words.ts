/**
 * Divides a text into words: letters and digits without marks and in small letters. A script without spaces is divided at each
 * character: its words are pairs of characters, and the last one alone, which a search leaves out.
 */
export function wordsIn(text: string, isSearch = false): readonly string[] {
  const plain = text.normalize("NFKD").replaceAll(MARKS, "").toLowerCase().normalize("NFC");
  const words: string[] = [];
  for (const [part] of plain.matchAll(WORDS)) {
    if (!UNSPACED.test(part)) {
      words.push(beginningOf(part, WORD_CHARACTERS));
      continue;
    }
    const characters = Array.from(part);
    const pairs = isSearch && characters.length > 1 ? characters.length - 1 : characters.length;
    for (let at = 0; at < pairs; at += 1) words.push(characters.slice(at, at + 2).join(""));
  }
  return words;
}

/** The beginning of a text, without half of a character that has two units of UTF-16: PostgreSQL refuses one in JSON. */
export function beginningOf(text: string, units: number): string {
  return text.slice(0, units).replace(/[\uD800-\uDBFF]$/, "");
}

const WORD_CHARACTERS = 40;

const MARKS = /\p{M}+/gu;

const UNSPACED_SCRIPTS = String.raw`\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}`;
const UNSPACED = new RegExp(`^[${UNSPACED_SCRIPTS}]`, "v");
const WORDS = new RegExp(
  String.raw`[[\p{L}\p{N}]&&[${UNSPACED_SCRIPTS}]]+|[[\p{L}\p{N}]--[${UNSPACED_SCRIPTS}]]+`,
  "gv",
);
