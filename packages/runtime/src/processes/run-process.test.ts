import assert from 'node:assert/strict'
import { type CommandName, contractOf } from '@penstock/contracts/contracts.ts'
import type { Contract } from '@penstock/contracts/define.ts'
import { accept, type Decider } from '@penstock/kernel/decider.ts'
import type { Command } from '@penstock/kernel/message.ts'
import { effect, type ProcessStep, commandStep, command, sendOnceStep, sentUntil } from '@penstock/kernel/process.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { BusMessage } from '@penstock/ports/bus.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { expect, test } from 'vitest'
import { createProcessRunner } from './run-process.ts'
import { createEffectRunner } from './effects.ts'
import { CHAIN_START } from '../commands/event-codec.ts'
import { type CommandMessage, commandFromBus } from '../commands/messages.ts'
import { defineAggregate } from '../service.ts'
import { trackHandledCommands } from './handled-commands.ts'
import { hasLowPriority, runWithLowPriority } from '../commands/low-priority.ts'
import { createTimerIndex } from './timer-index.ts'
import { migrateOpenStreams, trackOpenStreams } from './open-streams.ts'

const payhash = contractOf('payhash')
const decider: Decider<object, Command, never> = { initial: {}, evolve: (state) => state, decide: () => accept() }

const RETRY_DELAY_MS = 70

type Knock = () => Promise<{ readonly type: string; readonly data: object } | null>

type RunnerOptions = {
  readonly contract?: Contract
  readonly outcomes?: readonly string[]
  readonly isBusDown?: () => boolean
  readonly sentUntilHandled?: readonly CommandName[]
}

/** Creates a runner for one stream whose process returns `getSteps()`, with one effect. `work` lists what it runs, in order. */
async function createRunner(
  getSteps: () => readonly ProcessStep<Command, 'knock'>[],
  knock: Knock,
  { contract = payhash, outcomes = [], isBusDown = () => false, sentUntilHandled = [] }: RunnerOptions = {},
) {
  const { platform } = await createMemoryPlatform()
  await migrateOpenStreams(platform.views)
  const sent: BusMessage[] = []
  const stop = new AbortController()
  const rests: unknown[] = []
  const work: string[] = []
  const all = createEffectRunner(platform, stop.signal)
  const running: typeof all = {
    start(one) {
      rests.push(one.retryDelayMs)
      all.start(one)
    },
    close: () => all.close(),
  }
  const own = defineAggregate({
    contract,
    decider,
    hashed: { version: 1, projections: { 1: (state) => state } },
    process: getSteps,
    sentUntilHandled,
    effects: { knock: { calls: [], outcomes, act: knock } },
    retryDelaysMs: { knock: RETRY_DELAY_MS },
  })
  const openStreams = trackOpenStreams(platform.views, 'settlement')
  const handledCommands = trackHandledCommands(platform.views, 'settlement')
  const countOpen = async (): Promise<number> => {
    await openStreams.flush(0)
    // The relay has seen the stream's newest fact.
    await platform.views.db.transaction().execute((trx) => openStreams.touch(trx, new Map([[`${contract.category}-x`, 0]]), 0))
    return openStreams.count()
  }
  const loaded = { state: {}, revision: 0, chain: CHAIN_START, handled: new Map<string, number>() }
  const run = createProcessRunner({
    service: 'settlement',
    aggregates: new Map([[contract.category, own]]),
    streams: {
      load: () => Promise.resolve(loaded),
      loadFresh: () => Promise.resolve(loaded),
      put: () => undefined,
      forget: () => undefined,
    },
    bus: {
      ...platform.bus,
      async publish(_, messages) {
        if (isBusDown()) throw new Fault('the bus is down')
        sent.push(...messages)
      },
    },
    timers: createTimerIndex(platform.timers, 'settlement'),
    openStreams,
    handledCommands,
    effects: running,
    paidFirst: {
      async run(isUnpaid, act) {
        work.push(isUnpaid ? 'unpaid' : 'paid')
        return act().finally(() => work.push('done'))
      },
    },
    ports: platform,
    signal: stop.signal,
    async decide({ type }: CommandMessage) {
      work.push(type)
      return { outcome: 'accepted', revision: 0, hasAppended: true }
    },
  })
  const reset = () => run(contract.category, 'x', { isReset: true })
  return { run: () => run(contract.category, 'x'), reset, handledCommands, running, sent, stop, rests, work, countOpen }
}

test('a command is sent once, and once again when its attempt number changes', async () => {
  let attempt = 1
  const claim = { type: 'ClaimOutpoint', data: { orderId: 'o', attempt: 1 } }
  const { run, sent } = await createRunner(
    () => [commandStep('claim', command('outpoint', 'o', claim), attempt)],
    () => Promise.resolve(null),
  )
  await run()
  await run()
  assert.equal(sent.length, 1)
  attempt = 2
  await run()
  assert.equal(new Set(sent.map(({ id }) => id)).size, 2)
})

test('each command of a stream is sent once, even if another command is no longer requested', async () => {
  let names = ['a', 'b', 'c']
  const claim = { type: 'ClaimOutpoint', data: { orderId: 'o', attempt: 1 } }
  const { run, sent } = await createRunner(
    () => names.map((name) => commandStep(`claim ${name}`, command('outpoint', name, claim))),
    () => Promise.resolve(null),
  )
  await run()
  names = ['a', 'c', 'd']
  await run()
  names = ['d']
  await run()
  assert.deepEqual(
    sent.map(({ key }) => key),
    ['a', 'b', 'c', 'd'],
  )
})

test('a stream stays open until the bus has a command that is sent once, and not until it is acknowledged', async () => {
  let isBusDown = true
  const claim = command('outpoint', 'o', { type: 'ClaimOutpoint', data: { orderId: 'o', attempt: 1 } })
  const knock = () => Promise.resolve(null)
  const once = await createRunner(() => [sendOnceStep('claim', claim)], knock, { isBusDown: () => isBusDown })
  await assert.rejects(once.run())
  assert.equal(await once.countOpen(), 1)
  isBusDown = false
  await once.run()
  await once.run()
  assert.deepEqual([once.sent.length, await once.countOpen()], [1, 0])

  const repeated = await createRunner(() => [commandStep('claim', claim)], knock)
  await repeated.run()
  assert.equal(await repeated.countOpen(), 1)
  const both = await createRunner(() => [sendOnceStep('claim', claim), commandStep('again', claim)], knock)
  await both.run()
  assert.equal(await both.countOpen(), 1)
})

test('a stream stays open until the receiver has handled its command, and a new attempt is another command', async () => {
  let attempt = 1
  const claim = command('outpoint', 'x', { type: 'ClaimOutpoint', data: { orderId: 'o', attempt: 1 } })
  const { run, reset, sent, handledCommands, countOpen } = await createRunner(
    () => [commandStep('claim', claim, attempt)],
    () => Promise.resolve(null),
    { sentUntilHandled: ['outpoint.ClaimOutpoint'] },
  )
  const lastId = () => commandFromBus('settlement', sent.at(-1) as BusMessage).id
  await run()
  handledCommands.record('payhash-x', { category: 'channel', commandId: lastId() })
  await reset()
  assert.deepEqual([sent.length, await countOpen()], [2, 1])
  handledCommands.record('payhash-x', { category: 'outpoint', commandId: lastId() })
  await reset()
  assert.deepEqual([sent.length, await countOpen()], [2, 0])
  attempt = 2
  await run()
  assert.deepEqual([sent.length, await countOpen()], [3, 1])
})

test('a failed effect is not retried when the state no longer requests it', async () => {
  let isRequested = true
  let knocks = 0
  const { run, running, stop } = await createRunner(
    () => (isRequested ? [effect('knock')] : []),
    () => {
      knocks += 1
      isRequested = false
      if (knocks > 1) stop.abort()
      return Promise.reject(new Fault('no answer'))
    },
  )
  await run()
  await running.close()
  assert.equal(knocks, 1)
})

test('an effect gets the retry delay of its aggregate', async () => {
  const { run, running, stop, rests } = await createRunner(
    () => [effect('knock')],
    () => {
      stop.abort()
      return Promise.resolve(null)
    },
  )
  await run()
  await running.close()
  assert.deepEqual(rests, [RETRY_DELAY_MS])
})

test.each([
  ['quote', 'RequestQuote', 'unpaid'],
  ['settlement', 'RecordPayout', 'paid'],
] as const)('an effect of %s that ends with %s is %s work, except while it waits', async (category, type, priority) => {
  const events: string[] = []
  const { run, running, work } = await createRunner(
    () => [effect('knock')],
    async () => {
      assert.equal(hasLowPriority(), priority === 'unpaid')
      events.push(...work.splice(0))
      return { type, data: {} }
    },
    { contract: contractOf(category), outcomes: ['RecordReach', type] },
  )
  // The message that starts the effect has the other priority.
  await (priority === 'unpaid' ? run() : runWithLowPriority(run))
  await running.close()
  assert.deepEqual(events, [priority, 'done'])
  assert.deepEqual(work, [priority, type, 'done'])
})

test('a command with a limited time contains its limit, and is not sent afterwards', async () => {
  const claim = command('outpoint', 'o', { type: 'ClaimOutpoint', data: { orderId: 'o', attempt: 1 } })
  const limits = [Number.MAX_SAFE_INTEGER, 1, undefined]
  const { run, sent } = await createRunner(
    () => limits.map((notAfter, index) => sentUntil(commandStep(`claim-${index}`, claim), notAfter)),
    () => Promise.resolve(null),
  )
  await run()
  expect(sent.map((message) => commandFromBus('settlement', message).notAfter)).toEqual([Number.MAX_SAFE_INTEGER, null])
})
