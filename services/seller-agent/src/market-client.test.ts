import { Fault } from '@penstock/kernel/result.ts'
import { expect, test } from 'vitest'
import { MarketRefusal } from './api.ts'
import { openMarketClient } from './market-client.ts'

/** A client of a market that answers every query by `answer`. */
const openWith = (answer: (query: string) => object) =>
  openMarketClient({
    url: 'http://market.example',
    signal: new AbortController().signal,
    post: async (_, body) => answer((body as { query: string }).query), // as the agent writes it
  })
const error = (message: string, reason?: string) => ({
  data: null,
  errors: [{ message, extensions: { code: 'GRAPHQL_VALIDATION_FAILED', ...(reason !== undefined && { reason }) } }],
})
const order = (fields: object) => ({ data: { user: { market: { orders: { get_order: fields } } } } })
const attestation = {
  outpoint: `${'ab'.repeat(32)}:0`,
  capacitySat: 1n,
  nodeKeys: ['02aa', '02bb'] as const,
  channelType: '',
  pushSat: 0n,
  reserveSat: 0n,
  signature: '',
}

test.each(['http://market.example', 'http://market.example/', 'http://market.example/shop//'])(
  'the agent of a market at %s calls its path /graphql',
  async (url) => {
    const called: string[] = []
    const post = async (to: string) => {
      called.push(to)
      return error('Order not found')
    }
    await openMarketClient({ url, signal: new AbortController().signal, post }).findOrder('one')
    expect(called).toEqual([`${url.replace(/\/+$/, '')}/graphql`])
  },
)

test.each(['READ_ONLY', 'BUSY', 'TOO_LATE'])('a refusal with the temporary reason %s is a Fault', async (reason) => {
  const market = openWith(() => error('Try again later.', reason))
  await expect(market.submitOutpoint('one', attestation)).rejects.toThrow(Fault)
  await expect(market.accept('one', 'lnbcrt1')).rejects.toThrow(Fault)
  await expect(market.findOrder('one')).rejects.toThrow(Fault)
})

test.each(['OUTPOINT_REFUSED', 'CLOSING', 'ENDED', 'NOT_NOW', undefined])('the reason %s is a MarketRefusal', async (reason) => {
  const market = openWith(() => error('No.', reason))
  await expect(market.submitOutpoint('one', attestation)).rejects.toThrow(MarketRefusal)
})

test('findOrder reads an order, also from an earlier release of the market that has no field `closing`', async () => {
  const closing = 'The operator closes it.'
  const status = 'SELLER_SENT_TRANSACTION'
  expect(await openWith(() => order({ status, closing })).findOrder('one')).toEqual({ status, closing })
  expect(await openWith(() => order({ status, closing: null })).findOrder('one')).toEqual({ status, closing: undefined })
  const earlier = openWith((query) =>
    query.includes('closing') ? error('Cannot query field "closing" on type "MarketOrder".') : order({ status }),
  )
  expect(await earlier.findOrder('one')).toEqual({ status, closing: undefined })
  expect(await openWith(() => error('Order not found')).findOrder('one')).toBeUndefined()
})
