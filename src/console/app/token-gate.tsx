import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { signInAddress } from "../data/signed-in.ts";
import { ActButton } from "../parts/act-button.tsx";

interface TokenGateProps {
  readonly isWrong: boolean;
  onToken(token: string): void;
}

/** Asks for the token of the server, or to sign in. */
export function TokenGate({ isWrong, onToken }: TokenGateProps): VNode {
  const [token, setToken] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const signIn = signInAddress();
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
        <h1>{signIn === undefined ? "This server needs a token" : "Sign in"}</h1>
        {signIn !== undefined && (
          <p>
            <a class="button primary" href={signIn}>
              Sign in
            </a>
          </p>
        )}
        <p class="second">
          {signIn === undefined
            ? "It is the TROUPE_TOKEN of the server. This tab forgets it when it is closed."
            : "Or use a token of the server, which this tab forgets when it is closed."}
        </p>
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
          <ActButton class={signIn === undefined ? "button primary" : "button"}>Open</ActButton>
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
