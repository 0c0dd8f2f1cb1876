import { EventEmitter } from 'node:events'
import { encodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { expect, test } from 'vitest'
import type { Connection } from './connection.ts'
import { payments } from './payments.ts'

const request = encodePaymentRequest(
  {
    network: 'regtest',
    paymentHash: 'ab'.repeat(32),
    paymentSecret: 'cd'.repeat(32),
    amountMsat: 4_000_000n,
    createdAt: 1_795_000_000_000,
    expirySeconds: 3600,
    cltvDelta: 40,
    description: 'a payout',
  },
  new Uint8Array(32).fill(1),
)
const TRACK_MS = 2500

/** An lnd that knows no payment and says so after a while, and what it was asked to send. */
function node() {
  let now = 0
  const sent: unknown[] = []
  const call = (answer: (stream: EventEmitter) => void) => {
    const stream = Object.assign(new EventEmitter(), { cancel: () => undefined })
    setImmediate(() => answer(stream))
    return stream
  }
  const router = {
    trackPaymentV2: () =>
      call((stream) => {
        now += TRACK_MS
        stream.emit('error', { code: 5, details: "payment isn't initiated" })
      }),
    sendPaymentV2: (asked: unknown) => {
      sent.push(asked)
      return call((stream) => stream.emit('error', { code: 2, details: 'the test ends here' }))
    },
  }
  const clock = { now: () => now, sleep: () => new Promise<void>(() => undefined) }
  // Only what a payment calls is there.
  const connection = {
    clock,
    lnd: () => ({ router }),
    ask: () => Promise.reject(new Fault('not asked')),
  } as unknown as Connection
  const node = payments(connection, () => Promise.reject(new Fault('not asked')))
  return { sent, pay: (notAfter: number) => node.pay(request, { maxFeeMsat: 1000n, timeoutMs: 60_000, notAfter }) }
}

test('the look takes its time: what was to be paid before its end is not sent after it', async () => {
  const { sent, pay } = node()
  await expect(pay(TRACK_MS - 1)).rejects.toThrow(Fault)
  expect(sent).toEqual([])
})

test('what is in time after the look is sent', async () => {
  const { sent, pay } = node()
  await expect(pay(TRACK_MS)).rejects.toThrow('the test ends here')
  expect(sent).toHaveLength(1)
})
