import assert from 'node:assert/strict'
import type { Clock } from '@penstock/ports/clock.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { test } from 'vitest'
import { sweep } from './sweep.ts'
import { type Asks, migrateUnfinished, unfinished } from './unfinished.ts'

const MINUTE_MS = 60_000

/** Runs the sweep of one replica over what another one has begun. */
async function swept(begun: readonly Asks[], forMs: number, wallJumpMs = 0) {
  const { platform } = await memoryWorld()
  await migrateUnfinished(platform.views)
  const [other, own] = [unfinished(platform.views, 'order'), unfinished(platform.views, 'order')]
  const taken: { stream: string; afresh: boolean; afterMs: number }[] = []
  const over = new AbortController()
  let now = 0
  const clock: Clock = {
    // It jumps once the sweep is under way.
    now: () => now + (now > 0 ? wallJumpMs : 0),
    monotonicMs: () => now,
    async sleep(ms) {
      // After the start, which looks at everything.
      if (now === 0) {
        for (const asks of begun) other.ran(`order-${asks}`, { revision: 3, asks })
        await other.flush(now)
      }
      now += ms
      if (now > forMs) over.abort()
    },
  }
  const advance = (category: string, id: string, options?: { readonly afresh: boolean }): Promise<void> => {
    taken.push({ stream: `${category}-${id}`, afresh: options?.afresh === true, afterMs: now })
    return Promise.resolve()
  }
  const basics = { ...platform, clock }
  await sweep({ service: 'order', categories: ['order'], unfinished: own, basics, advance }, over.signal)
  return taken
}

test('what another replica began and does not end is taken up: an effect after three minutes, a message after ten', async () => {
  const taken = await swept(['deadline', 'command', 'effect'], 11 * MINUTE_MS)
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

test('a deadline whose timer was lost is set again within an hour, without a restart', async () => {
  const taken = await swept(['deadline'], 121 * MINUTE_MS)
  assert.deepEqual(taken, [
    { stream: 'order-deadline', afresh: true, afterMs: 60 * MINUTE_MS },
    { stream: 'order-deadline', afresh: true, afterMs: 120 * MINUTE_MS },
  ])
})

test.each([3_600_000, -3_600_000])(
  'a wall clock that jumps by %d ms neither hastens the next sweep nor puts it off',
  async (jumpMs) => {
    const taken = await swept(['deadline'], 61 * MINUTE_MS, jumpMs)
    assert.deepEqual(taken, [{ stream: 'order-deadline', afresh: true, afterMs: 60 * MINUTE_MS }])
  },
)
