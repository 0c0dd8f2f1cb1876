import { z } from 'zod'

/**
 * The address of a price and the reader of its answer. `dollars` is the published text; `at` is its timestamp in ms, if the
 * source publishes one.
 */
export type RateSourceFormat = {
  readonly url: string
  readonly read: (answer: unknown) => { readonly dollars: string; readonly at?: number } | undefined
}

const defineFormat = <T>(
  url: string,
  schema: z.ZodType<T>,
  price: (answer: T) => ReturnType<RateSourceFormat['read']>,
): RateSourceFormat => ({
  url,
  read(answer) {
    const parsed = schema.safeParse(answer)
    return parsed.success ? price(parsed.data) : undefined
  },
})

const kraken = z.object({ result: z.record(z.string(), z.object({ c: z.array(z.string()).min(1) })) })
const coinbase = z.object({ data: z.object({ amount: z.string(), currency: z.literal('USD') }) })
const bitstamp = z.object({ last: z.string(), timestamp: z.string().regex(/^\d{1,11}$/) })
const mempool = z.object({ time: z.int().positive(), USD: z.number().positive() })

/** Sources that need no account. They return the price of the last trade if the source publishes it. */
export const publicRateSources = {
  kraken: defineFormat('https://api.kraken.com/0/public/Ticker?pair=XBTUSD', kraken, ({ result }) => {
    const [last] = Object.values(result)[0]?.c ?? []
    return last === undefined ? undefined : { dollars: last }
  }),
  coinbase: defineFormat('https://api.coinbase.com/v2/prices/BTC-USD/spot', coinbase, ({ data }) => ({ dollars: data.amount })),
  bitstamp: defineFormat('https://www.bitstamp.net/api/v2/ticker/btcusd/', bitstamp, ({ last, timestamp }) => ({
    dollars: last,
    at: 1000 * Number(timestamp),
  })),
  mempool: defineFormat('https://mempool.space/api/v1/prices', mempool, ({ USD, time }) => ({
    dollars: `${USD}`,
    at: 1000 * time,
  })),
} as const satisfies Readonly<Record<string, RateSourceFormat>>
