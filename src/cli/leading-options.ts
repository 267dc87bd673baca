import type { Command, Option } from "./vendor/commander.ts";

/**
 * The words of a command line with the options that stand before the command behind its name, where they are parsed:
 * `--url X agents` becomes `agents --url X`.
 */
export function behindCommand(
  words: readonly string[],
  { commands, options: own }: Command,
): readonly string[] {
  const options = commands.flatMap((command) => command.options);
  let at = 0;
  for (let word = words[0]; word?.startsWith("-") === true; word = words[at]) {
    if (own.some((option) => isNamed(option, word))) return words;
    at += takesValue(options, word) ? 2 : 1;
  }
  const name = words[at];
  if (name === undefined || !commands.some((command) => command.name() === name)) return words;
  return [name, ...words.slice(0, at), ...words.slice(at + 1)];
}

/** Whether the word behind a word is its value. */
export function takesValue(options: readonly Option[], word: string | undefined): boolean {
  return options.some((option) => option.required && isNamed(option, word));
}

/** Whether a word is the name of an option. */
export function isNamed({ long, short }: Option, word: string | undefined): boolean {
  return word !== undefined && (word === long || word === short);
}
