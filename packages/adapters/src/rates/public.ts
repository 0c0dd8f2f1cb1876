import { z } from 'zod'

/** Where a price is published and how it is read. `dollars` as they are written; `at` where the source says when, in ms. */
export type RateForm = {
  readonly url: string
  readonly read: (answer: unknown) => { readonly dollars: string; readonly at?: number } | undefined
}

const form = <T>(url: string, schema: z.ZodType<T>, price: (answer: T) => ReturnType<RateForm['read']>): RateForm => ({
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

/** Those that need no account. The last price of a trade where there is one. */
export const publicRates = {
  kraken: form('https://api.kraken.com/0/public/Ticker?pair=XBTUSD', kraken, ({ result }) => {
    const [last] = Object.values(result)[0]?.c ?? []
    return last === undefined ? undefined : { dollars: last }
  }),
  coinbase: form('https://api.coinbase.com/v2/prices/BTC-USD/spot', coinbase, ({ data }) => ({ dollars: data.amount })),
  bitstamp: form('https://www.bitstamp.net/api/v2/ticker/btcusd/', bitstamp, ({ last, timestamp }) => ({
    dollars: last,
    at: 1000 * Number(timestamp),
  })),
  mempool: form('https://mempool.space/api/v1/prices', mempool, ({ USD, time }) => ({ dollars: `${USD}`, at: 1000 * time })),
} as const satisfies Readonly<Record<string, RateForm>>
