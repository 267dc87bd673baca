import type { Usage } from "../protocol/events/outcome-codes.ts";

/** What completions cost, for people: `unknown` if their models have no price; empty if there were none. */
export function costText(usage: Usage): string {
  if (usage.cost !== undefined) return dollars(usage.cost);
  return usage.input_tokens !== undefined || usage.output_tokens !== undefined ? "unknown" : "";
}

/** An amount of money, with cents or two digits of less than a cent. */
export function dollars(amount: number): string {
  const isSmall = amount > 0 && amount < 0.1;
  const digits = isSmall ? Math.min(1 - Math.floor(Math.log10(amount)), 10) : 2;
  return `$${amount.toFixed(digits)}`;
}
