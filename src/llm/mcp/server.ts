/** Where a server of the Model Context Protocol is: a program to start, or an address. */
export type McpServer =
  | {
      readonly command: string;
      readonly args?: readonly string[];
      /** Beside the few variables that a program cannot do without; others of this process are not passed on. */
      readonly env?: { readonly [name: string]: string };
      readonly cwd?: string;
    }
  | { readonly url: string; readonly headers?: { readonly [name: string]: string } };
