/** What one source says a bitcoin costs. `centsPerBtc` is in dollar cents, `at` when the source said so (ms since 1970). */
export type RateSample = { readonly source: string; readonly centsPerBtc: bigint; readonly at: number }

export interface RateSource {
  readonly name: string
  /** @throws Fault where the source does not answer */
  read(): Promise<RateSample>
}
