import { parkedKeysContract } from '@penstock/adapters/kafka/parked-tables.contract.ts'
import { openSharedParkedKeys } from '@penstock/adapters/kafka/parked-tables.ts'
import type { ReceivedMessage } from '@penstock/adapters/kafka/consumer/to-bus-message.ts'
import { createInFlightOffsets } from '@penstock/adapters/kafka/consumer/in-flight-offsets.ts'
import { createMessageProcessor } from '@penstock/adapters/kafka/consumer/message-processor.ts'
import { openPostgresViews } from '@penstock/adapters/postgres/views.ts'
import { systemChance } from '@penstock/adapters/system/chance.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { waitForValue } from '@penstock/ports/wait-for-value.fixture.ts'
import { expect, test } from 'vitest'
import { useOwnPostgresServer } from './server.ts'

// This file has a server of its own, because it restarts the server.
const server = useOwnPostgresServer()

parkedKeysContract('PostgreSQL', async () => {
  const views = openPostgresViews({ url: await server().createDatabase() })
  return { views, teardown: () => views.close() }
})

const PARKED_KEY = { group: 'readers', topic: 'orders' }
const MESSAGES = 20
const message = (n: number): ReceivedMessage => ({
  id: `m${n}`,
  key: 'k',
  headers: {},
  body: '',
  partition: 0,
  offset: n,
  at: n,
})

test('a replay continues after restarts of the server, handles each message once in order, and frees the key', async () => {
  const views = openPostgresViews({ url: await server().createDatabase() })
  const parked = await openSharedParkedKeys(views, () => systemClock.now())
  const key = { ...PARKED_KEY, key: 'k' }
  await parked.park(key, message(0), 'the code is wrong')
  for (let n = 1; n < MESSAGES; n++) await parked.parkBehind(key, message(n))
  await parked.startReplay(key)

  const handledIds: string[] = []
  let faults = 0
  /** Stops the server during the first call for which `isTime` returns true. */
  const withOutage = <Answer>(call: (parkedKey: typeof key) => Promise<Answer>, isTime: () => boolean) => {
    let hasHappened = false
    return async (parkedKey: typeof key): Promise<Answer> => {
      if (hasHappened || !isTime()) return call(parkedKey)
      hasHappened = true
      // `shutDown` also ends all sessions. The sessions of a killed server would remain for a moment.
      await server().shutDown()
      try {
        return await call(parkedKey)
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
    first: withOutage(
      (parkedKey) => parked.first(parkedKey),
      () => handledIds.length === MESSAGES / 2,
    ),
    release: withOutage(
      (parkedKey) => parked.release(parkedKey),
      () => true,
    ),
  }
  const window = createInFlightOffsets(0)
  const working = createMessageProcessor(PARKED_KEY, table, () => window, {
    clock: systemClock,
    chance: systemChance,
    retryMinMs: 5,
    retryMaxMs: 50,
    concurrency: 1,
    isLowPriority: () => false,
  })
  working.add(
    async ({ id }) => (handledIds.push(id), 'done'),
    () => undefined,
  )
  working.updateParkedKeys(await parked.listStates(), working.parkedKeysVersion())
  const listParked = () => parked.list().catch(() => undefined)
  await waitForValue('the key is free', async () => faults === 2 && (await listParked())?.length === 0)
  await working.stop()
  await views.close()
  expect(handledIds).toEqual(Array.from({ length: MESSAGES }, (_, n) => `m${n}`))
})
