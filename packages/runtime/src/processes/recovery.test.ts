import assert from 'node:assert/strict'
import type { Clock } from '@penstock/ports/clock.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { test } from 'vitest'
import { recoverStreams } from './recovery.ts'
import { STREAM_CACHE_SIZE } from '../stream-cache-size.ts'
import { trackHandledCommands } from './handled-commands.ts'
import { type PendingStep, migrateOpenStreams, trackOpenStreams } from './open-streams.ts'

const MINUTE_MS = 60_000

/** Runs the recovery of one replica while another replica has pending steps. */
async function runRecovery(pendingSteps: readonly PendingStep[], forMs: number, wallJumpMs = 0) {
  const { platform } = await createMemoryPlatform()
  await migrateOpenStreams(platform.views)
  const [other, own] = [trackOpenStreams(platform.views, 'order'), trackOpenStreams(platform.views, 'order')]
  const runs: { stream: string; isReset: boolean; afterMs: number }[] = []
  const over = new AbortController()
  let now = 0
  const clock: Clock = {
    // The wall clock jumps after the start.
    now: () => now + (now > 0 ? wallJumpMs : 0),
    monotonicMs: () => now,
    async sleep(ms) {
      // The steps begin after the start, which checks every stream.
      if (now === 0) {
        for (const pendingStep of pendingSteps) other.recordRun(`order-${pendingStep}`, { revision: 3, pendingStep })
        await other.flush(now)
      }
      now += ms
      if (now > forMs) over.abort()
    },
  }
  const runProcess = (category: string, id: string, options?: { readonly isReset: boolean }): Promise<void> => {
    runs.push({ stream: `${category}-${id}`, isReset: options?.isReset === true, afterMs: now })
    return Promise.resolve()
  }
  const basePorts = { ...platform, clock }
  await recoverStreams({ service: 'order', categories: ['order'], openStreams: own, basePorts, runProcess }, over.signal)
  return runs
}

test('pending steps of another replica are repeated: an effect after three minutes, a command after ten', async () => {
  const runs = await runRecovery(['deadline', 'command', 'effect'], 11 * MINUTE_MS)
  assert.deepEqual(runs[0], { stream: 'order-effect', isReset: false, afterMs: 3 * MINUTE_MS })
  assert.deepEqual(
    runs.filter(({ isReset }) => isReset).map(({ stream, afterMs }) => [stream, afterMs]),
    [
      ['order-effect', 10 * MINUTE_MS],
      ['order-command', 10 * MINUTE_MS],
    ],
  )
  assert.deepEqual(
    runs.filter(({ stream }) => stream === 'order-deadline'),
    [],
  )
})

test('the process of a stream runs again when its command was handled', async () => {
  const { platform } = await createMemoryPlatform()
  await migrateOpenStreams(platform.views)
  const handledCommands = trackHandledCommands(platform.views, 'order')
  const runs: unknown[] = []
  const over = new AbortController()
  const runProcess = (...run: readonly unknown[]): Promise<void> => {
    runs.push(run)
    over.abort()
    return Promise.resolve()
  }
  const openStreams = trackOpenStreams(platform.views, 'order')
  handledCommands.record('order-a', { category: 'match', commandId: 'c' })
  const clock: Clock = { ...platform.clock, sleep: () => Promise.resolve() }
  const basePorts = { ...platform, clock }
  await recoverStreams(
    { service: 'order', categories: ['order'], openStreams, handledCommands, basePorts, runProcess },
    over.signal,
  )
  assert.deepEqual(runs, [['order', 'a', { isReset: false }]])
})

test('a start knows the handled commands of each stream at its turn, also of more streams than the cache keeps', async () => {
  const { platform } = await createMemoryPlatform()
  await migrateOpenStreams(platform.views)
  const [other, own] = [trackHandledCommands(platform.views, 'order'), trackHandledCommands(platform.views, 'order')]
  const openStreams = trackOpenStreams(platform.views, 'order')
  const used = { category: 'match', commandId: 'c' }
  for (let n = 0; n < STREAM_CACHE_SIZE + 100; n++) {
    openStreams.recordRun(`order-${n}`, { revision: 1, pendingStep: 'command' })
    other.record(`order-${n}`, used)
  }
  await other.flush(1)
  const unknown: string[] = []
  let runs = 0
  const runProcess = async (category: string, id: string): Promise<void> => {
    runs++
    if (!own.has(`${category}-${id}`, used)) unknown.push(id)
  }
  const over = new AbortController()
  const clock: Clock = { ...platform.clock, sleep: async () => over.abort() }
  const context = { service: 'order', categories: ['order'], openStreams, handledCommands: own }
  await recoverStreams({ ...context, basePorts: { ...platform, clock }, runProcess }, over.signal)
  assert.deepEqual([runs, unknown], [STREAM_CACHE_SIZE + 100, []])
})

test('a deadline whose timer was lost is set again within an hour, without a restart', async () => {
  const runs = await runRecovery(['deadline'], 121 * MINUTE_MS)
  assert.deepEqual(runs, [
    { stream: 'order-deadline', isReset: true, afterMs: 60 * MINUTE_MS },
    { stream: 'order-deadline', isReset: true, afterMs: 120 * MINUTE_MS },
  ])
})

test.each([3_600_000, -3_600_000])(
  'a jump of the wall clock by %d ms neither advances nor delays the next recovery',
  async (jumpMs) => {
    const runs = await runRecovery(['deadline'], 61 * MINUTE_MS, jumpMs)
    assert.deepEqual(runs, [{ stream: 'order-deadline', isReset: true, afterMs: 60 * MINUTE_MS }])
  },
)
