/** A server of the Model Context Protocol: a program to start, or an address. */
export type McpServer =
  | {
      readonly command: string;
      readonly args?: readonly string[];
      /**
       * Variables in addition to the few that every program needs; others of this process are not passed on.
       */
      readonly env?: { readonly [name: string]: string };
      readonly cwd?: string;
    }
  | { readonly url: string; readonly headers?: { readonly [name: string]: string } };
