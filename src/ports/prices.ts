/** The price of a million tokens. */
export interface TokenPrice {
  readonly input: number;
  /** Of input that the provider had in its cache. Default: that of other input. */
  readonly cachedInput?: number;
  /** Of input that the provider has put into its cache. Default: that of other input. */
  readonly cacheWrite?: number;
  /** Of input that it keeps there for an hour. Default: `cacheWrite`. */
  readonly cacheWriteHour?: number;
  /** Of input that was an image. Default: that of other input. */
  readonly imageInput?: number;
  /** Of input that was sound. Default: that of other input. */
  readonly audioInput?: number;
  readonly output: number;
  /** Of reasoning. Default: that of other output. */
  readonly reasoning?: number;
  /** Of output that is an image. Default: that of other output. */
  readonly imageOutput?: number;
  /** Of output that is sound. Default: that of other output. */
  readonly audioOutput?: number;
  /** The price of a thousand searches of the web that the provider has run itself and counted. Default 0. */
  readonly searches?: number;
  /** Prices of completions whose input has more tokens than `above`, as far as they differ. */
  readonly longer?: readonly (Partial<Omit<TokenPrice, "longer" | "services">> & {
    readonly above: number;
  })[];
  /**
   * Prices of other service levels, by the name that the provider reports: `flex`, `priority`, `batch`. The cost of a completion
   * of a level without a price is unknown.
   */
  readonly services?: { readonly [level: string]: TokenPrice };
}

/** The price of a model in a table. */
export interface PriceEntry extends TokenPrice {
  /** A regular expression for the ids of the models with this price. Default: the one after the `/` of its name. */
  readonly match?: string;
}

/**
 * Prices of models, each by the provider and the model, `openai/gpt-5-mini` for example, or by the name that is shown in events. The first
 * entry that fits counts.
 */
export interface PriceTable {
  readonly [name: string]: PriceEntry;
}
