/** The price of a bitcoin at one source, in dollar cents. `at`: the timestamp of the source (ms since 1970). */
export type RateSample = { readonly source: string; readonly centsPerBtc: bigint; readonly at: number }

export interface RateSource {
  readonly name: string
  /** @throws Fault if the source does not answer */
  read(): Promise<RateSample>
}
