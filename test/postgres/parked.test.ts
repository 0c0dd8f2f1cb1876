import { parkedKeysContract } from '@penstock/adapters/kafka/parked-tables.contract.ts'
import { parkedKeys } from '@penstock/adapters/kafka/parked-tables.ts'
import type { Received } from '@penstock/adapters/kafka/received.ts'
import { openWindow } from '@penstock/adapters/kafka/window.ts'
import { work } from '@penstock/adapters/kafka/work.ts'
import { openPostgresViews } from '@penstock/adapters/postgres/views.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { until } from '@penstock/ports/waiting.contract.ts'
import { expect, test } from 'vitest'
import { aServer } from './server.ts'

const server = aServer()

parkedKeysContract('PostgreSQL', async () => {
  const views = openPostgresViews({ url: await server().createDatabase() })
  return { views, teardown: () => views.close() }
})

const PLACE = { group: 'readers', topic: 'orders' }
const MESSAGES = 20
const message = (n: number): Received => ({
  id: `m${n}`,
  key: 'k',
  headers: {},
  body: '',
  partition: 0,
  offset: n,
  at: n,
})

test('a replay goes on by itself after restarts of the server: each message once, in order, and the key is free at last', async () => {
  const views = openPostgresViews({ url: await server().createDatabase() })
  const parked = await parkedKeys(views, () => systemClock.now())
  const key = { ...PLACE, key: 'k' }
  await parked.park(key, message(0), 'the code is wrong')
  for (let n = 1; n < MESSAGES; n++) await parked.parkBehind(key, message(n))
  await parked.startReplay(key)

  const seen: string[] = []
  let faults = 0
  /** The server is not there when this is asked first. */
  const whileAway = <Answer>(ask: (place: typeof key) => Promise<Answer>, isTime: () => boolean) => {
    let done = false
    return async (place: typeof key): Promise<Answer> => {
      if (done || !isTime()) return ask(place)
      done = true
      // With all its sessions: those of one that is killed live on for a moment.
      await server().halt()
      try {
        return await ask(place)
      } catch (error) {
        faults++
        throw error
      } finally {
        await server().start()
      }
    }
  }
  const table = {
    ...parked,
    first: whileAway(
      (place) => parked.first(place),
      () => seen.length === MESSAGES / 2,
    ),
    release: whileAway(
      (place) => parked.release(place),
      () => true,
    ),
  }
  const window = openWindow(0)
  const working = work(PLACE, table, () => window, { clock: systemClock, retryMinMs: 5, retryMaxMs: 50, concurrency: 1 })
  working.add(
    async ({ id }) => (seen.push(id), 'done'),
    () => undefined,
  )
  working.noteParked(await parked.waiting(), working.parkedVersion())
  const left = () => parked.list().catch(() => undefined)
  await until('the key is free', async () => faults === 2 && (await left())?.length === 0)
  await working.stop()
  await views.close()
  expect(seen).toEqual(Array.from({ length: MESSAGES }, (_, n) => `m${n}`))
})
