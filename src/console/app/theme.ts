/** The theme of the page: that of the system, unless the person chose one. */
export type Theme = "system" | "light" | "dark";

const NAME = "troupe-theme";

export function readTheme(): Theme {
  const kept = localStorage.getItem(NAME);
  return kept === "light" || kept === "dark" ? kept : "system";
}

/** Shows the page in a theme and keeps the choice. */
export function setTheme(theme: Theme): void {
  if (theme === "system") localStorage.removeItem(NAME);
  else localStorage.setItem(NAME, theme);
  applyTheme(theme);
}

export function applyTheme(theme: Theme): void {
  const { dataset } = document.documentElement;
  if (theme === "system") delete dataset["theme"];
  else dataset["theme"] = theme;
}

/** The theme that follows in the order in which the button changes it. */
export function nextTheme(theme: Theme): Theme {
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const order: readonly Theme[] = isDark ? ["system", "light", "dark"] : ["system", "dark", "light"];
  return order[(order.indexOf(theme) + 1) % order.length] ?? "system";
}
