import { contractOf, contracts } from '@penstock/contracts/contracts.ts'
import { accept, type Decider } from '@penstock/kernel/decider.ts'
import type { Command } from '@penstock/kernel/message.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import assert from 'node:assert/strict'
import { expect, test } from 'vitest'
import { defineAggregate, defineService } from '../service.ts'
import { createServiceRuntime } from '../service-runtime.ts'
import { commandToBus, factToBus, newCommand, isLowPriority } from './messages.ts'
import { hasLowPriority } from './low-priority.ts'
import { isUnpaid, createPaidPriorityScheduler, paidFirstOf } from './paid-first.ts'

/** Creates a clock whose sleeps last until the test resolves them, or until their signal. */
function createManualClock() {
  const sleeping: (() => void)[] = []
  const sleep = (_: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      sleeping.push(resolve)
      signal?.addEventListener('abort', () => resolve(), { once: true })
    })
  return { clock: { sleep }, sleeping }
}
const turn = (): Promise<void> => new Promise(setImmediate)

test('unpaid work waits while paid work runs, and starts when the last paid work ends', async () => {
  const { clock } = createManualClock()
  const { run } = createPaidPriorityScheduler(clock)
  const events: string[] = []
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const paid = gates.map((one, index) => run(false, () => one.promise.then(() => void events.push(`paid ${index}`))))
  const unpaid = [1, 2].map((index) => run(true, async () => void events.push(`unpaid ${index}`)))
  await turn()
  gates[0]?.resolve()
  await turn()
  expect(events).toEqual(['paid 0'])
  gates[1]?.resolve()
  await Promise.all([...paid, ...unpaid])
  expect(events).toEqual(['paid 0', 'paid 1', 'unpaid 1', 'unpaid 2'])
})

test('unpaid work waits for a limited time only, and not at all without paid work', async () => {
  const { clock, sleeping } = createManualClock()
  const { run } = createPaidPriorityScheduler(clock)
  assert.equal(await run(true, async () => 'at once'), 'at once')
  assert.equal(sleeping.length, 0)
  void run(false, () => new Promise(() => {}))
  const waiting = run(true, async () => 'later')
  await turn()
  sleeping[0]?.()
  assert.equal(await waiting, 'later')
})

test('unpaid work has low priority at the database, and paid work that it starts has not', async () => {
  const { run } = createPaidPriorityScheduler(createManualClock().clock)
  const startPaid = () => run(false, async () => hasLowPriority())
  assert.deepEqual(await run(true, async () => [hasLowPriority(), await startPaid(), hasLowPriority()]), [true, false, true])
  assert.equal(await startPaid(), false)
})

test('paid work never waits, and failed paid work does not delay unpaid work', async () => {
  const { clock, sleeping } = createManualClock()
  const { run } = createPaidPriorityScheduler(clock)
  await assert.rejects(() => run(false, () => Promise.reject(new Error('a fault'))), /a fault/)
  await run(true, () => Promise.resolve())
  await run(false, () => Promise.resolve())
  assert.equal(sleeping.length, 0)
})

test('services on one bus share a scheduler, and contracts list the unpaid messages', async () => {
  const [one, other] = [await createMemoryPlatform(), await createMemoryPlatform()]
  const { bus, clock } = one.platform
  assert.equal(paidFirstOf(bus, clock), paidFirstOf(bus, clock))
  assert.notEqual(paidFirstOf(bus, clock), paidFirstOf(other.platform.bus, clock))
  assert.ok(isUnpaid('quote', 'RequestQuote') && isUnpaid('settlement', 'IssueHold') && !isUnpaid('settlement', 'CancelHold'))
  assert.ok(!isUnpaid('of a later release', 'RequestQuote'))
  for (const { category, facts, commands, unpaid = [] } of contracts)
    for (const type of unpaid) assert.ok(type in facts || type in commands, `${category} ${type}`)
})

test('a command of a job waits for paid work only if it is one of an unpaid order', async () => {
  const { platform } = await createMemoryPlatform()
  const { clock, sleeping } = createManualClock()
  const scheduler = paidFirstOf(platform.bus, clock)
  const decider: Decider<object, Command, never> = { initial: {}, evolve: (state) => state, decide: () => accept() }
  const hashed = { version: 1, projections: { 1: (state: object) => state } }
  const aggregates = ['order', 'payhash'].map((category) => defineAggregate({ contract: contractOf(category), decider, hashed }))
  const { context } = createServiceRuntime(
    defineService('order', { aggregates }),
    platform,
    platform,
    new AbortController().signal,
  )
  const orderId = '00000000-0000-4000-8000-000000000001'
  const paid = Promise.withResolvers<void>()
  const running = scheduler.run(false, () => paid.promise)
  await context.decide({ category: 'payhash', id: 'x', command: { type: 'ClaimPayhash', data: { orderId } } }, 'c1')
  assert.equal(sleeping.length, 0)
  const waiting = context.decide({ category: 'order', id: 'x', command: { type: 'LapseApproval', data: { deadline: 1 } } }, 'c2')
  assert.equal(sleeping.length, 1)
  paid.resolve()
  await Promise.all([running, waiting])
})

test.each([
  ['order', ['RecordHoldRefused', 'LapseApproval', 'SellerFailedToReact'], ['Withdraw', 'ReleaseRequested', 'BuyerRejected']],
  ['settlement', ['HoldRefused', 'RecordIssued'], ['ExpireInvoice', 'RecordReach', 'CancelRequested', 'HoldCancelled']],
])('the unpaid messages of %s are those of orders whose payment cannot have arrived', (category, unpaid, others) => {
  for (const type of unpaid) assert.ok(isUnpaid(category, type), type)
  for (const type of others) assert.ok(!isUnpaid(category, type), type)
})

test('facts and commands of unpaid orders have low priority, which their headers show', () => {
  const command = (category: string, type: string) =>
    commandToBus(newCommand({ id: 'c', category, aggregateId: 'o', command: { type, data: {} }, at: 1, correlation: 'o' }))
  const fact = (stream: string, type: string) =>
    factToBus({ id: 'f', stream, type, revision: 0, position: 1n, data: '{}', meta: '{}' })
  assert.ok(isLowPriority(command('quote', 'RequestQuote')) && isLowPriority(command('settlement', 'IssueHold')))
  assert.ok(!isLowPriority(command('settlement', 'SettleHold')) && !isLowPriority(command('match', 'FindSeller')))
  assert.ok(isLowPriority(fact('order-o', 'OrderPlaced')) && !isLowPriority(fact('order-o', 'PaymentLocked')))
  assert.ok(!isLowPriority({ ...fact('order-o', 'OrderPlaced'), headers: { kind: 'outcome' } }))
})
