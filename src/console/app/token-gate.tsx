import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ActButton } from "../parts/act-button.tsx";

interface TokenGateProps {
  readonly isWrong: boolean;
  onToken(token: string): void;
}

/** Asks for the token of the server. */
export function TokenGate({ isWrong, onToken }: TokenGateProps): VNode {
  const [token, setToken] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <main>
      <form
        class="gate"
        onSubmit={(event) => {
          event.preventDefault();
          if (token.trim() !== "") onToken(token.trim());
        }}
      >
        <h1>This server needs a token</h1>
        <p class="second">It is the TROUPE_TOKEN of the server. This tab forgets it when it is closed.</p>
        <div class="field">
          <label for="token">Token</label>
          <input
            id="token"
            class="input"
            type="password"
            autocomplete="off"
            ref={field}
            value={token}
            aria-invalid={isWrong}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
          {isWrong && (
            <p class="fault" role="alert">
              The server refused this token.
            </p>
          )}
        </div>
        <div class="actions">
          <ActButton class="button primary">Open</ActButton>
        </div>
      </form>
    </main>
  );
}

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
