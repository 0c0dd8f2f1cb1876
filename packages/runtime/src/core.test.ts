import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/all.ts'
import { accept, type Decider, refuse } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import { effect, type Process, tell } from '@penstock/kernel/process.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { until } from '@penstock/testkit/until.ts'
import { expect, test } from 'vitest'
import { audit } from './audit.ts'
import { commandToBus, commandTopic, newCommand } from './messages.ts'
import { newerTries } from './metrics.ts'
import { bind, run } from './run.ts'
import { aggregate, ask, on, service } from './service.ts'

const ORDER = '00000000-0000-4000-8000-000000000001'
const OTHER = '00000000-0000-4000-8000-000000000002'
const payhash = { ...contractOf('payhash'), fromOthers: ['ClaimPayhash'] }
const outpoint = contractOf('outpoint')

/** A claim that is made once; a second one by somebody else is refused to the caller. */
type Claim = { readonly by: string | null }
const claim: Decider<Claim, Command<'ClaimPayhash', { orderId: string }>, Fact<'PayhashClaimed', { orderId: string }>> = {
  initial: { by: null },
  evolve: (_, fact) => ({ by: fact.data.orderId }),
  decide: (state, { data }) => {
    if (state.by === null) return accept({ type: 'PayhashClaimed', v: 1, data: { orderId: data.orderId } })
    return state.by === data.orderId ? accept() : refuse('TAKEN', 'This hash is taken.')
  },
}
const hashed = { version: 1, of: { 1: (state: unknown) => state } }

const claims = (process?: Process<Claim, never, 'knock'>, knock?: () => Promise<null>) =>
  service('settlement', {
    aggregates: [
      aggregate({ contract: payhash, decider: claim, hashed, ...(process && knock && { process, effects: { knock } }) }),
    ],
  })

const claimOf = (hash: string, orderId: string) => ask(payhash, hash, 'ClaimPayhash', { orderId })

test('a command is decided once, whatever is repeated', async () => {
  const world = await memoryWorld()
  const caller = service('gateway', { jobs: [] })
  const running = await run([bind(claims(), {}), bind(caller, {})], world.platform)
  const { send, outcomes } = await world.caller('settlement')
  await send(claimOf('aa', ORDER), 'c1')
  await send(claimOf('aa', ORDER), 'c1')
  await send(claimOf('aa', OTHER), 'c2')
  await until('both repeats are answered', () => outcomes.length === 2)
  assert.deepEqual(
    outcomes.map(({ commandId, refused }) => [commandId, refused?.code ?? null]),
    [
      ['c1', null],
      ['c2', 'TAKEN'],
    ],
  )
  const events = await world.store.read('payhash-aa')
  assert.equal(events.length, 1)
  const report = await audit(world.store, [claims()])
  assert.deepEqual(report, { streams: 1, events: 1, divergences: 0, ledger_balanced: true, first: null, findings: [] })
  await running.close()
})

test('a late command is refused and stores nothing', async () => {
  const world = await memoryWorld()
  const running = await run([bind(claims(), {})], world.platform)
  const { send, outcomes } = await world.caller('settlement')
  await send(claimOf('bb', ORDER), 'c1', world.platform.clock.now() - 1)
  const stored = () => world.store.read('payhash-bb')
  await until('it is answered, or carried out', async () => outcomes.length === 1 || (await stored()).length > 0)
  assert.deepEqual(await stored(), [])
  assert.equal(outcomes[0]?.refused?.code, 'TOO_LATE')
  await running.close()
})

test('a command that a service gives itself alone is dropped where somebody else sends it', async () => {
  const world = await memoryWorld()
  const own = { ...payhash, fromOthers: [] }
  const alone = service('settlement', { aggregates: [aggregate({ contract: own, decider: claim, hashed })] })
  const running = await run([bind(alone, {})], world.platform)
  const { send } = await world.caller('settlement')
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
    await world.platform.bus.publish(commandTopic('settlement'), [message])
  }
  // A later message of the same key shows when these were dealt with.
  await send({ category: 'nobodys', id: 'forged', command: { type: 'ClaimPayhash', data: {} } }, 'c2')
  await until('the other one is parked', async () => (await world.platform.bus.parked()).length === 1)
  const [parked] = await world.platform.bus.parked()
  expect(parked).toMatchObject({ key: 'forged', messages: 1 })
  expect(parked?.reason).toContain('nobodys')
  assert.deepEqual(await world.store.read('payhash-forged'), [])
  await running.close()
})

test('a malformed command is parked with its key and shows', async () => {
  const world = await memoryWorld()
  const running = await run([bind(claims(), {})], world.platform)
  const { send } = await world.caller('settlement')
  await send({ category: 'payhash', id: 'cc', command: { type: 'ClaimPayhash', data: { orderId: 'nonsense' } } }, 'c1')
  await until('it is parked', async () => (await world.platform.bus.parked()).length === 1)
  const [parked] = await world.platform.bus.parked()
  expect(parked).toMatchObject({ group: 'settlement', key: 'cc', messages: 1 })
  expect(parked?.reason).toContain('ClaimPayhash is malformed')
  await running.close()
})

test('a foreign fact becomes a command, once, and a process tells another service', async () => {
  const world = await memoryWorld()
  // settlement claims; channel-watcher reacts by a claim of its own, and its process claims a second hash at settlement
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
  const watcher = service('channel-watcher', {
    aggregates: [
      aggregate({
        contract: outpoint,
        decider: watcherClaim,
        hashed,
        process: (state: Claim) =>
          state.by
            ? [
                tell<Command<'ClaimPayhash', { orderId: string }>>('payhash', 'second', 'claim', {
                  type: 'ClaimPayhash',
                  data: { orderId: state.by },
                }),
              ]
            : [],
      }),
    ],
    reactions: [
      on(payhash, 'PayhashClaimed', (data, event) =>
        event.aggregateId === 'second'
          ? []
          : [ask(outpoint, 'o', 'ClaimOutpoint', { ...(data as { orderId: string }), attempt: 1 })],
      ),
    ],
  })
  const running = await run([bind(claims(), {}), bind(watcher, {})], world.platform)
  await (await world.caller('settlement')).send(claimOf('first', ORDER), 'c1')
  await until('the second claim is made', async () => (await world.store.read('payhash-second')).length === 1)
  assert.equal((await world.store.read('outpoint-o')).length, 1)
  await running.close()
})

test('an effect is tried again after a fault, and an unfinished stream is taken up at the next start', async () => {
  const world = await memoryWorld()
  let knocks = 0
  const asking: Process<Claim, never, 'knock'> = (state) => (state.by ? [effect('knock')] : [])
  const running = await run(
    [
      bind(
        claims(asking, () => {
          knocks += 1
          return Promise.reject(new Fault('nobody opens'))
        }),
        {},
      ),
    ],
    world.platform,
  )
  await (await world.caller('settlement')).send(claimOf('dd', ORDER), 'c1')
  await until('it was tried again', () => knocks >= 2)
  await running.close()
  const before = knocks
  const again = await run(
    [
      bind(
        claims(asking, () => {
          knocks += 1
          return Promise.resolve(null)
        }),
        {},
      ),
    ],
    world.platform,
  )
  await until('the start asked again', () => knocks > before)
  await again.close()
})

test('a command of a newer version waits with its key, and is not parked', async () => {
  const world = await memoryWorld()
  const running = await run([bind(claims(), {})], world.platform)
  const made = { category: 'payhash', command: { type: 'ClaimPayhash', data: { orderId: ORDER } }, at: 0, correlation: ORDER }
  const commands = [
    { ...newCommand({ ...made, id: 'newer', aggregateId: 'aa' }), v: 9 },
    { ...newCommand({ ...made, id: 'unknown', aggregateId: 'bb' }), type: 'SellPayhash' },
    newCommand({ ...made, id: 'behind', aggregateId: 'aa' }),
    newCommand({ ...made, id: 'other', aggregateId: 'cc' }),
  ]
  await world.platform.bus.publish(
    commandTopic('settlement'),
    commands.map((command) => commandToBus(command)),
  )
  await until('the other key is handled, and these were tried', async () => {
    const { values } = await newerTries.get()
    const tries = values.find(({ labels }) => labels.consumer === 'settlement')?.value ?? 0
    return tries > 4 && (await world.store.read('payhash-cc')).length === 1
  })
  assert.deepEqual([await world.store.read('payhash-aa'), await world.store.read('payhash-bb')], [[], []])
  assert.deepEqual(await world.platform.bus.parked(), [])
  await running.close()
})
