import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/contracts.ts'
import { v1 } from '@penstock/contracts/define.ts'
import { accept, type Decider, refuse } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import { effect, type Process, commandStep, command } from '@penstock/kernel/process.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { verifyLog } from '@penstock/audit/verify.ts'
import { deriveId } from './commands/derived-ids.ts'
import { readMeta } from './commands/event-codec.ts'
import { commandToBus, commandTopic, newCommand } from './commands/messages.ts'
import { commandsDropped, commandsLate, newerMessageTries } from './observability/metrics.ts'
import { bind, run } from './run.ts'
import { defineAggregate, on, defineService } from './service.ts'

const ORDER = '00000000-0000-4000-8000-000000000001'
const OTHER = '00000000-0000-4000-8000-000000000002'
const claimShape = v1(z.strictObject({ orderId: z.uuid() }))
const payhash = { ...contractOf('payhash'), commands: { ClaimPayhash: { ...claimShape, from: ['order', 'channel-watcher'] } } }
const outpoint = contractOf('outpoint')

/** A claim that succeeds once. A second claim of another order is refused. */
type Claim = { readonly by: string | null }
const claim: Decider<Claim, Command<'ClaimPayhash', { orderId: string }>, Fact<'PayhashClaimed', { orderId: string }>> = {
  initial: { by: null },
  evolve: (_, fact) => ({ by: fact.data.orderId }),
  decide: (state, { data }) => {
    if (state.by === null) return accept({ type: 'PayhashClaimed', v: 1, data: { orderId: data.orderId } })
    return state.by === data.orderId ? accept() : refuse('TAKEN', 'This hash is taken.')
  },
}
const hashed = { version: 1, projections: { 1: (state: unknown) => state } }

const claims = (process?: Process<Claim, never, 'knock'>, knock?: () => Promise<null>) =>
  defineService('settlement', {
    aggregates: [
      defineAggregate({
        contract: payhash,
        decider: claim,
        hashed,
        ...(process && knock && { process, effects: { knock: { calls: [], outcomes: [], act: knock } } }),
      }),
    ],
  })

const claimOf = (hash: string, orderId: string) => command('payhash', hash, { type: 'ClaimPayhash', data: { orderId } })

test('a repeated command is decided once', async () => {
  const world = await createMemoryPlatform()
  const caller = defineService('gateway', { jobs: [] })
  const running = await run([bind(claims(), {}), bind(caller, {})], world.platform)
  const { send, outcomes } = await world.caller('settlement')
  await send(claimOf('aa', ORDER), 'c1')
  await send(claimOf('aa', ORDER), 'c1')
  await send(claimOf('aa', OTHER), 'c2')
  await waitUntil('both repeats are answered', () => outcomes.length === 2)
  assert.deepEqual(
    outcomes.map(({ commandId, refused }) => [commandId, refused?.code ?? null]),
    [
      ['c1', null],
      ['c2', 'TAKEN'],
    ],
  )
  const events = await world.store.read('payhash-aa')
  assert.equal(events.length, 1)
  const report = await verifyLog(world.store, [claims()])
  assert.deepEqual(report, { streams: 1, events: 1, divergences: 0, ledger_balanced: true, first: null, findings: [] })
  await running.close()
})

/** Deadlines in ms since 1970, before and after the time of every clock. */
const [PAST, FUTURE] = [1, Number.MAX_SAFE_INTEGER]

test('a command whose deadline has passed is dropped without a read of its stream and without an outcome', async () => {
  const world = await createMemoryPlatform()
  const running = await run([bind(claims(), {})], world.platform)
  const { send, outcomes } = await world.caller('settlement')
  const reads: string[] = []
  const read = world.store.read.bind(world.store)
  Object.assign(world.store, { read: (...args: Parameters<typeof read>) => (reads.push(args[0]), read(...args)) })
  await send(claimOf('bb', ORDER), 'c1', PAST)
  await send(claimOf('bb', ORDER), 'c2', FUTURE)
  await send(claimOf('bb', ORDER), 'c2')
  // The outcome of the repeated command shows that the commands before it were handled.
  await waitUntil('the repeated command has an outcome', () => outcomes.length > 0)
  const [stored, ...more] = await world.store.read('payhash-bb')
  assert.deepEqual([readMeta(stored ?? assert.fail()).command, more.length], ['c2', 0])
  const { values } = await commandsLate.get()
  assert.deepEqual(
    values
      .filter(({ labels, value }) => labels.component === 'settlement' && value > 0)
      .map(({ labels, value }) => [labels.type, value]),
    [['ClaimPayhash', 1]],
  )
  await send(claimOf('cc', ORDER), 'c3', PAST)
  await send(claimOf('dd', OTHER), 'c4')
  await waitUntil('the other command is decided', async () => (await read('payhash-dd')).length === 1)
  assert.ok(!reads.includes('payhash-cc'))
  await running.close()
})

/** Other test files of the same process drop commands, too. */
async function countDropped(): Promise<number> {
  const { values } = await commandsDropped.get()
  return values.find(({ labels }) => labels.component === 'settlement' && labels.sender === 'order')?.value ?? 0
}

test('a command that its sender never sends is dropped', async () => {
  const droppedBefore = await countDropped()
  const world = await createMemoryPlatform()
  const own = {
    ...payhash,
    commands: { ClaimPayhash: { ...claimShape, from: ['channel-watcher'] }, Unused: { ...claimShape, from: ['order'] } },
  }
  const alone = defineService('settlement', { aggregates: [defineAggregate({ contract: own, decider: claim, hashed })] })
  const running = await run([bind(alone, {})], world.platform)
  const { send } = await world.caller('settlement', 'order')
  await send(claimOf('forged', ORDER), 'c1')
  const { category, id: key, command } = claimOf('forged', ORDER)
  for (const v of [undefined, null, '1', 'x', {}]) {
    const body = {
      id: `c ${JSON.stringify(v)}`,
      category,
      aggregateId: key,
      ...command,
      v,
      at: 0,
      notAfter: null,
      correlation: key,
    }
    const message = {
      id: body.id,
      key,
      headers: { trace: '0'.repeat(32) },
      body: JSON.stringify({ ...body, trace: '0'.repeat(32) }),
    }
    await world.platform.bus.publish(commandTopic('settlement', 'order'), [message])
  }
  // A later message of the same key shows that the earlier messages were handled.
  await send({ category: 'nobodys', id: 'forged', command: { type: 'ClaimPayhash', data: {} } }, 'c2')
  await waitUntil('the later message is parked', async () => (await world.platform.bus.parked()).length === 1)
  const [parked] = await world.platform.bus.parked()
  expect(parked).toMatchObject({ key: 'forged', messages: 1 })
  expect(parked?.reason).toContain('nobodys')
  assert.deepEqual(await world.store.read('payhash-forged'), [])
  assert.equal((await countDropped()) - droppedBefore, 6)
  await running.close()
})

test('the id of a command from the bus does not block a command of another sender with the same id', async () => {
  const world = await createMemoryPlatform()
  const running = await run([bind(claims(), {})], world.platform)
  const id = deriveId('payhash-ee', 'a deadline', 1)
  const [order, watcher] = [await world.caller('settlement', 'order'), await world.caller('settlement', 'channel-watcher')]
  await order.send(claimOf('ee', ORDER), id)
  await waitUntil('the first command is decided', async () => (await world.store.read('payhash-ee')).length === 1)
  // A command whose id is known would get its first outcome.
  await watcher.send(claimOf('ee', OTHER), id)
  const outcomes = () => [...order.outcomes, ...watcher.outcomes].map(({ refused }) => refused?.code ?? 'known')
  await waitUntil('the second command is decided', () => outcomes().length === 1)
  expect(outcomes()).toEqual(['TAKEN'])
  const [event] = await world.store.read('payhash-ee')
  assert.ok(event)
  expect(readMeta(event).command).not.toBe(id)
  await order.send(claimOf('ee', ORDER), id)
  await waitUntil('the repeated command is answered', () => outcomes().length === 2)
  expect(outcomes()).toContain('known')
  await running.close()
})

test.each([
  ['a timestamp that is not a number', { at: '1' }],
  ['a correlation that is not a text', { correlation: 7 }],
  ['an id that is not a text', { id: 7 }],
  ['no trace', { trace: undefined }],
])('a command with %s is parked, because facts would store it in their metadata', async (_, change) => {
  const world = await createMemoryPlatform()
  const running = await run([bind(claims(), {})], world.platform)
  const { category, id: key, command } = claimOf('ff', ORDER)
  const parts = newCommand({ id: 'c1', category, aggregateId: key, command, at: 0, correlation: key })
  const body = JSON.stringify({ ...parts, ...change })
  await world.platform.bus.publish(commandTopic('settlement', 'order'), [{ ...commandToBus(parts), body }])
  await waitUntil('the command is parked', async () => (await world.platform.bus.parked()).length === 1)
  assert.deepEqual(await world.store.read('payhash-ff'), [])
  await running.close()
})

test('a malformed command is parked with its key and the reason', async () => {
  const world = await createMemoryPlatform()
  const running = await run([bind(claims(), {})], world.platform)
  const { send } = await world.caller('settlement')
  await send({ category: 'payhash', id: 'cc', command: { type: 'ClaimPayhash', data: { orderId: 'nonsense' } } }, 'c1')
  await waitUntil('the command is parked', async () => (await world.platform.bus.parked()).length === 1)
  const [parked] = await world.platform.bus.parked()
  expect(parked).toMatchObject({ group: 'settlement', key: 'cc', messages: 1 })
  expect(parked?.reason).toContain('ClaimPayhash is malformed')
  await running.close()
})

test('a fact of another service becomes one command, and a process sends a command to another service', async () => {
  const world = await createMemoryPlatform()
  // The service settlement claims a hash, and channel-watcher reacts with its own claim. The process of that claim then
  // claims a second hash at settlement.
  const watcherClaim: Decider<
    Claim,
    Command<'ClaimOutpoint', { orderId: string }>,
    Fact<'OutpointClaimed', { orderId: string; attempt: number }>
  > = {
    initial: { by: null },
    evolve: (_, fact) => ({ by: fact.data.orderId }),
    decide: (state, { data }) =>
      state.by ? accept() : accept({ type: 'OutpointClaimed', v: 1, data: { orderId: data.orderId, attempt: 1 } }),
  }
  const watcher = defineService('channel-watcher', {
    aggregates: [
      defineAggregate({
        contract: outpoint,
        decider: watcherClaim,
        hashed,
        process: (state: Claim) =>
          state.by
            ? [
                commandStep(
                  'claim',
                  command('payhash', 'second', {
                    type: 'ClaimPayhash',
                    data: { orderId: state.by },
                  }),
                ),
              ]
            : [],
      }),
    ],
    reactions: [
      on(payhash, 'PayhashClaimed', 'outpoint.ClaimOutpoint', (data, event) =>
        event.aggregateId === 'second' ? [] : [{ id: 'o', data: { ...(data as { orderId: string }), attempt: 1 } }],
      ),
    ],
  })
  const running = await run([bind(claims(), {}), bind(watcher, {})], world.platform)
  await (await world.caller('settlement')).send(claimOf('first', ORDER), 'c1')
  await waitUntil('the second claim is made', async () => (await world.store.read('payhash-second')).length === 1)
  assert.equal((await world.store.read('outpoint-o')).length, 1)
  await running.close()
})

test('an effect is retried after a fault, and the next start continues an open stream', async () => {
  const world = await createMemoryPlatform()
  let knocks = 0
  const getSteps: Process<Claim, never, 'knock'> = (state) => (state.by ? [effect('knock')] : [])
  const running = await run(
    [
      bind(
        claims(getSteps, () => {
          knocks += 1
          return Promise.reject(new Fault('no answer'))
        }),
        {},
      ),
    ],
    world.platform,
  )
  await (await world.caller('settlement')).send(claimOf('dd', ORDER), 'c1')
  await waitUntil('the effect is retried', () => knocks >= 2)
  await running.close()
  const before = knocks
  const restarted = await run(
    [
      bind(
        claims(getSteps, () => {
          knocks += 1
          return Promise.resolve(null)
        }),
        {},
      ),
    ],
    world.platform,
  )
  await waitUntil('the restarted service runs the effect', () => knocks > before)
  await restarted.close()
})

test('a command of a newer version waits with its key, and is not parked', async () => {
  const world = await createMemoryPlatform()
  const running = await run([bind(claims(), {})], world.platform)
  const parts = { category: 'payhash', command: { type: 'ClaimPayhash', data: { orderId: ORDER } }, at: 0, correlation: ORDER }
  const commands = [
    { ...newCommand({ ...parts, id: 'newer', aggregateId: 'aa' }), v: 9 },
    { ...newCommand({ ...parts, id: 'unknown', aggregateId: 'bb' }), type: 'SellPayhash' },
    newCommand({ ...parts, id: 'behind', aggregateId: 'aa' }),
    newCommand({ ...parts, id: 'other', aggregateId: 'cc' }),
  ]
  await world.platform.bus.publish(
    commandTopic('settlement', 'order'),
    commands.map((command) => commandToBus(command)),
  )
  await waitUntil('the other key is handled, and these were tried', async () => {
    const { values } = await newerMessageTries.get()
    const tries = values.find(({ labels }) => labels.consumer === 'settlement')?.value ?? 0
    return tries > 4 && (await world.store.read('payhash-cc')).length === 1
  })
  assert.deepEqual([await world.store.read('payhash-aa'), await world.store.read('payhash-bb')], [[], []])
  assert.deepEqual(await world.platform.bus.parked(), [])
  await running.close()
})
