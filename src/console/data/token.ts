/** The token of the server is kept for this tab only: closing the tab forgets it. */
const NAME = "troupe-token";

export function readToken(): string | undefined {
  return sessionStorage.getItem(NAME) ?? undefined;
}

export function keepToken(token: string): void {
  sessionStorage.setItem(NAME, token);
}

export function forgetToken(): void {
  sessionStorage.removeItem(NAME);
}
