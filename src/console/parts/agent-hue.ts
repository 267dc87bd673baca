/** The style that gives `--agent` the colour of an agent inside an element with the class `hued`. */
export function agentStyle(name: string): { readonly "--hue": string } {
  return { "--hue": String(hueOf(name)) };
}

/** The hue of an agent in degrees, from its name alone, so that it is the same for everybody. */
export function hueOf(name: string): number {
  let hash = 2_166_136_261;
  for (const letter of name) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 16_777_619);
  return HUES[(hash >>> 8) % HUES.length] ?? 0;
}

/** Hues that people can tell apart; their contrast is the same, because OKLCH has one lightness for all hues. */
const HUES: readonly number[] = [25, 50, 80, 110, 140, 165, 195, 225, 250, 275, 300, 330, 355];
