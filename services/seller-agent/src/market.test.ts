import { Fault } from '@penstock/kernel/result.ts'
import { expect, test } from 'vitest'
import { MarketRefusal } from './api.ts'
import { openMarket } from './market.ts'

/** A market that answers every query with what `answer` makes of it. */
const answering = (answer: (query: string) => object) =>
  openMarket({
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

test.each(['READ_ONLY', 'BUSY', 'TOO_LATE'])('%s says something of the moment: nothing is given up for it', async (reason) => {
  const market = answering(() => error('Try again later.', reason))
  await expect(market.nameFunding('one', attestation)).rejects.toThrow(Fault)
  await expect(market.accept('one', 'lnbcrt1')).rejects.toThrow(Fault)
  await expect(market.standing('one')).rejects.toThrow(Fault)
})

test.each(['OUTPOINT_REFUSED', 'CLOSING', 'ENDED', 'NOT_NOW', undefined])('%s is a refusal', async (reason) => {
  const market = answering(() => error('No.', reason))
  await expect(market.nameFunding('one', attestation)).rejects.toThrow(MarketRefusal)
})

test('how an order stands, also where the market does not say yet whether it is being closed', async () => {
  const closing = 'The operator closes it.'
  const status = 'SELLER_SENT_TRANSACTION'
  expect(await answering(() => order({ status, closing })).standing('one')).toEqual({ status, closing })
  expect(await answering(() => order({ status, closing: null })).standing('one')).toEqual({ status, closing: undefined })
  const earlier = answering((query) =>
    query.includes('closing') ? error('Cannot query field "closing" on type "MarketOrder".') : order({ status }),
  )
  expect(await earlier.standing('one')).toEqual({ status, closing: undefined })
  expect(await answering(() => error('Order not found')).standing('one')).toBeUndefined()
})
