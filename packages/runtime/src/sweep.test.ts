import assert from 'node:assert/strict'
import type { Clock } from '@penstock/ports/clock.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { test } from 'vitest'
import { sweep } from './sweep.ts'
import { type Asks, migrateUnfinished, unfinished } from './unfinished.ts'

const MINUTE_MS = 60_000

test('what another replica began and does not end is taken up: an effect after three minutes, a message after ten', async () => {
  const { platform } = await memoryWorld()
  await migrateUnfinished(platform.views)
  const [other, own] = [unfinished(platform.views, 'order'), unfinished(platform.views, 'order')]
  const begun: readonly Asks[] = ['deadline', 'command', 'effect']
  const taken: { stream: string; afresh: boolean; afterMs: number }[] = []
  const over = new AbortController()
  let now = 0
  const clock: Clock = {
    now: () => now,
    async sleep(ms) {
      // After the start, which looks at everything.
      if (now === 0) {
        for (const asks of begun) other.ran(`order-${asks}`, { revision: 3, asks })
        await other.flush(now)
      }
      now += ms
      if (now > 11 * MINUTE_MS) over.abort()
    },
  }
  const advance = (category: string, id: string, options?: { readonly afresh: boolean }): Promise<void> => {
    taken.push({ stream: `${category}-${id}`, afresh: options?.afresh === true, afterMs: now })
    return Promise.resolve()
  }
  const basics = { ...platform, clock }
  await sweep({ service: 'order', categories: ['order'], unfinished: own, basics, advance }, over.signal)
  assert.deepEqual(taken[0], { stream: 'order-effect', afresh: false, afterMs: 3 * MINUTE_MS })
  assert.deepEqual(
    taken.filter(({ afresh }) => afresh).map(({ stream, afterMs }) => [stream, afterMs]),
    [
      ['order-effect', 10 * MINUTE_MS],
      ['order-command', 10 * MINUTE_MS],
    ],
  )
  assert.deepEqual(
    taken.filter(({ stream }) => stream === 'order-deadline'),
    [],
  )
})
