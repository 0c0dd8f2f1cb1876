import assert from 'node:assert/strict'
import { until } from '@penstock/testkit/until.ts'
import { expect, test } from 'vitest'
import { buy, type Bought, follow, pay, payment } from '../harness/buyer.ts'
import { type Product, scratch, startProduct } from '../harness/product.ts'
import { paidOut, report } from '../harness/report.ts'

/**
 * Each place at which a purchase can be cut in two: between a fact and its publication, between publication and
 * progress, between an intent and its effect, between an effect and its outcome. `#n` takes a later visit.
 */
const points = [
  'order.before-append',
  'order.after-append',
  'order.after-append#6',
  'order.after-publish#3',
  'order.after-relay-progress#3',
  'order.before-send#2',
  'order.after-send#2',
  'order.after-reaction#3',
  'settlement.after-append',
  'settlement.after-append#4',
  'settlement.after-publish#2',
  'settlement.after-reaction',
  'settlement.reach.after-intent',
  'settlement.issue.after-intent',
  'settlement.issue.before-outcome',
  'settlement.settle.after-intent',
  'settlement.settle.before-outcome',
  'settlement.pay.after-intent',
  'settlement.pay.before-outcome',
  'channel-watcher.after-append#3',
  'matching.after-append#6',
  'gateway.after-projection#20',
]

/** Goes through a purchase until the process dies; what was reached by then is kept. */
async function purchaseUntilItDies(product: Product): Promise<{ bought?: Bought; hash?: string }> {
  const reached: { bought?: Bought; hash?: string } = {}
  try {
    reached.bought = await buy(product)
    reached.hash = (await pay(product, reached.bought.invoice)).payment_hash
    await follow(product, reached.bought, ['VALID_CHANNEL_OPENING'])
    await until('the payout is made', () => paidOut(product, reached.bought!), 30_000)
  } catch {
    // The process died under the call, which is what the point is for; a purchase that failed otherwise shows below.
  }
  return reached
}

test.each(points)('killed at %s, the purchase still ends as it should', async (point) => {
  const dataDir = scratch()
  const doomed = await startProduct(dataDir, { PENSTOCK_TEST_CRASH_AT: point })
  const { bought, hash } = await purchaseUntilItDies(doomed)
  const end = await Promise.race([doomed.ended, doomed.stop().then(() => null)])
  assert.equal(end?.signal, 'SIGKILL', `the point ${point} was never visited`)

  const product = await startProduct(dataDir)
  const finished = bought ?? (await buy(product))
  const paidBy = hash ?? (await pay(product, finished.invoice)).payment_hash
  await follow(product, finished, ['VALID_CHANNEL_OPENING'])
  await until('the payment settled', async () => (await payment(product, paidBy)).state === 'SUCCEEDED', 20_000)
  await until('the payout is made', () => paidOut(product, finished), 30_000)
  expect(await report(product, finished)).toMatchObject({ hold: { status: 'settled' }, payout: { attempts: 1 } })
  expect(await product.operator('POST', '/audit/verify', {})).toMatchObject({ divergences: 0, ledger_balanced: true })
  expect(await product.operator('GET', '/parked')).toEqual([])
  assert.equal(await product.stop(), 0)
})
