import { status } from '@grpc/grpc-js'
import { expect, it } from 'vitest'
import { Fault } from '@penstock/kernel/result.ts'
import { until } from '@penstock/ports/waiting.contract.ts'
import { failure } from './double/messages.ts'
import { answered, aPair, event, events, following } from './stores.ts'

type Pair = Awaited<ReturnType<typeof aPair>>

const inOrder = async ({ store }: Pair): Promise<string[]> =>
  (await store.readAll('start', 10_000, ['order'])).map(({ id }) => id)

/** Appends while something goes wrong with subscriptions now and then. */
async function appendThrough({ store, server }: Pair, wrong: readonly (() => void)[]): Promise<void> {
  for (const [round, happens] of wrong.entries()) {
    await until('it follows', async () => server.subscriptions.count() === 1)
    for (let n = 0; n < 15; n++) {
      await store.append(`order-${round * 15 + n}`, 'none', events(2))
      if (n === 7) happens()
    }
  }
}

it('goes on after its subscription was ended or broken off, without a loss and without a repetition', async () => {
  const pair = await aPair()
  const { seen, sees } = following(pair.store)
  const ends = [
    undefined,
    failure(status.UNAVAILABLE, 'away'),
    failure(status.ABORTED, 'too slow'),
    failure(status.CANCELLED, 'off'),
  ]
  await appendThrough(
    pair,
    ends.map((end) => () => pair.server.subscriptions.drop(end)),
  )
  await sees(120)
  expect(seen.map(({ id }) => id)).toEqual(await inOrder(pair))
  expect(pair.server.subscriptions.asked.length).toBeGreaterThan(3)
})

it('goes on through restarts of the server', async () => {
  const pair = await aPair()
  const { seen, sees } = following(pair.store)
  for (let round = 0; round < 3; round++) {
    await answered(() => pair.store.append(`order-${round}`, 'none', events(20)))
    await sees(20 * (round + 1))
    pair.server.stop()
    await expect(pair.store.append('order-9', 'none', [event()])).rejects.toThrow(Fault)
    await pair.server.start()
  }
  expect(seen.map(({ id }) => id)).toEqual(await answered(() => inOrder(pair)))
})

it('looks for itself when its subscription says nothing, and when none comes about', async () => {
  const pair = await aPair()
  const { seen, sees } = following(pair.store)
  await pair.store.append('order-1', 'none', events(2))
  await sees(2)
  pair.server.subscriptions.forget()
  await pair.store.append('order-1', 1, events(2))
  await sees(4)
  pair.server.faults.silent.add('subscribe')
  pair.server.subscriptions.drop()
  await pair.store.append('order-1', 3, events(2))
  await until('it asks again', async () => pair.server.calls.filter(({ kind }) => kind === 'subscribe').length > 4)
  pair.server.faults.silent.clear()
  await sees(6)
  expect(seen.map(({ id }) => id)).toEqual(await inOrder(pair))
})

it('a slow consumer holds back its server, is dropped and misses nothing', async () => {
  const pair = await aPair()
  const text = JSON.stringify('x'.repeat(20_000))
  for (let n = 0; n < 30; n++)
    await pair.store.append(
      `order-${n}`,
      'none',
      Array.from({ length: 40 }, () => event(text)),
    )
  pair.server.faults.mostWaiting = 100
  const stop = new AbortController()
  const seen: string[] = []
  for await (const batch of pair.store.follow({ categories: ['order'], after: 'start', signal: stop.signal })) {
    if (seen.length === 0) await until('the server drops it', async () => pair.server.subscriptions.count() === 0)
    pair.server.faults.mostWaiting = Number.POSITIVE_INFINITY
    seen.push(...batch.map(({ id }) => id))
    if (seen.length === 1200) stop.abort()
  }
  expect(seen).toEqual(await inOrder(pair))
  expect(pair.server.subscriptions.asked.length).toBeGreaterThan(1)
})

it('moves on with checkpoints where its categories are quiet', async () => {
  const pair = await aPair()
  const { seen, sees } = following(pair.store, ['hold'])
  await pair.store.append('hold-1', 'none', events(1))
  await sees(1)
  for (let n = 0; n < 10; n++) await pair.store.append(`order-${n}`, 'none', events(100))
  await until('it asks after a checkpoint', async () => {
    const before = pair.server.subscriptions.asked.length
    pair.server.subscriptions.drop()
    await until('it comes back', async () => pair.server.subscriptions.asked.length > before)
    const last = pair.server.subscriptions.asked.at(-1)
    return last !== undefined && last !== 'start' && last > (seen[0]?.position ?? 0n)
  })
  await pair.store.append('hold-1', 0, events(1))
  await sees(2)
})

it('a checkpoint does not overtake events that nobody has taken yet', async () => {
  const pair = await aPair()
  for (let n = 0; n < 4; n++) await pair.store.append(`order-${n}`, 'none', events(100))
  await pair.store.append('hold-1', 'none', events(400))
  const stop = new AbortController()
  const seen: string[] = []
  for await (const batch of pair.store.follow({ categories: ['order'], after: 'start', signal: stop.signal })) {
    pair.server.subscriptions.drop(failure(status.UNAVAILABLE, 'away'))
    seen.push(...batch.map(({ id }) => id))
    if (seen.length >= 400) stop.abort()
  }
  expect(seen).toEqual(await inOrder(pair))
})

it('goes on from the start where it had seen nothing yet when its subscription broke', async () => {
  const pair = await aPair()
  const { sees } = following(pair.store, ['hold'])
  const { asked } = pair.server.subscriptions
  for (let round = 1; round <= 5; round++) {
    await until('it follows', async () => asked.length === round && pair.server.subscriptions.count() === 1)
    pair.server.subscriptions.drop()
  }
  await until('it follows again', async () => pair.server.subscriptions.count() === 1)
  expect(new Set(asked)).toEqual(new Set(['start']))
  await answered(() => pair.store.append('hold-1', 'none', events(2)))
  await sees(2)
})

it('an event that only checkpoints go past is found by the sweep', async () => {
  const pair = await aPair(undefined, { quietMs: 60_000, sweepMs: 50 })
  const { seen, sees } = following(pair.store, ['hold'])
  await until('it follows', async () => pair.server.subscriptions.count() === 1)
  pair.server.faults.untold.add('hold-1')
  await pair.store.append('hold-1', 'none', events(2))
  let others = 0
  await until('it asks anew', async () => {
    await pair.store.append(`order-${others++}`, 'none', events(100))
    return pair.server.subscriptions.asked.length > 1
  })
  pair.server.faults.untold.clear()
  pair.server.subscriptions.drop()
  await sees(2)
  expect(seen.map(({ stream }) => stream)).toEqual(['hold-1', 'hold-1'])
})
