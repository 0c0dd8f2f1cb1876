import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { test } from 'vitest'
import { type LogHeadStore, isSigned, parseHead, parseLogEnd } from './heads.ts'
import { createHeadWriter, runHeadWriter } from './head-writer.ts'
import { openLogger } from '@penstock/runtime/observability/log.ts'
import { bind, run } from '@penstock/runtime/run.ts'

const MINUTE_MS = 60_000

/** Creates a market without events, whose head writer ran once and was killed. Each run writes heads and the log's end. */
async function world() {
  const made = await bare()
  await made.ran({ isKilled: true })
  return made
}

async function bare() {
  const { platform, store } = await createMemoryPlatform()
  const key = randomBytes(32)
  const lines: string[] = []
  const ends: string[] = []
  const said: { reason?: string }[] = []
  const time = { now: 1_000_000_000 }
  const heads: LogHeadStore = {
    key,
    last: async () => lines.at(-1),
    append: async (line) => void lines.push(line),
    end: async () => ends.at(-1),
    writeEnd: async (line) => void ends.push(line),
    async *lines() {
      yield* lines
    },
  }
  const log = Object.assign(openLogger('silent'), { error: (about: object) => void said.push(about) })
  // A sleep ends in the next event-loop turn.
  const sleep = (_: number, signal?: AbortSignal) =>
    new Promise<void>((resolve) => void (signal?.aborted ? resolve() : setImmediate(resolve)))
  const clock = { ...platform.clock, now: () => time.now, sleep }
  let count = 0
  return {
    time,
    lines,
    ends,
    said,
    reasons: () => said.map(({ reason }) => reason),
    /** Appends events with a timestamp. */
    appended: async (events: number, at = time.now): Promise<void> => {
      const chain = '0'.repeat(64)
      const meta = JSON.stringify({ at, chain })
      for (let left = events; left > 0; left -= 500) {
        const batch = Array.from({ length: Math.min(left, 500) }, () => ({
          id: `e${count++}`,
          type: 'PayhashClaimed',
          data: '{}',
          meta,
        }))
        await store.append(`payhash-${count}`, 'none', batch)
      }
    },
    /** Runs the head writer until a clean stop, or until a crash before it writes the log's end. */
    ran: async ({ isAlone = true, isKilled = false } = {}): Promise<void> => {
      await runHeadWriter({ store, heads, log, clock, isAlone }, AbortSignal.abort())
      if (isKilled) ends.pop()
    },
    market: { store, heads, platform: { ...platform, log, clock } },
    marked: () => lines.map(parseHead).flatMap(({ gap, events }) => (gap ? [events] : [])),
  }
}

test.each([
  ['some events of the last seconds', 900, 5000, undefined],
  ['more than a thousand events, whatever their timestamps', 1001, 0, 'more than 1000 events'],
  ['events of more than a minute', 1, MINUTE_MS + 1, 'events of more than 60 seconds'],
])('events after the last head of a crashed process are a gap only above the limits: %s', async (_, events, laterMs, reason) => {
  const { ran, appended, said, marked, time, lines } = await world()
  await appended(10)
  await ran({ isKilled: true })
  await appended(events, time.now + laterMs)
  time.now += 60 * MINUTE_MS
  await ran({ isKilled: true })
  assert.deepEqual(said, reason === undefined ? [] : [{ reason, events, since: 1_000_000_000 }])
  assert.deepEqual(marked(), reason === undefined ? [] : [10 + events])
  // Heads without a gap mark cover later events.
  await appended(5)
  await ran()
  assert.deepEqual([said.length, marked().length], reason === undefined ? [0, 0] : [1, 1])
  assert.equal(parseHead(lines.at(-1) ?? '').events, 15 + events)
})

test("the crash of a quiet market leaves no gap, because the market writes the log's end periodically", async () => {
  const { appended, time, said, market, ends } = await world()
  await appended(3)
  const running = await run([bind(createHeadWriter(market.store, market.heads).keeper, {})], market.platform)
  await waitUntil('the end is written', () => ends.length > 0)
  // An hour passes without events.
  time.now += 60 * MINUTE_MS
  await waitUntil('the end is written again', () => parseLogEnd(ends.at(-1) ?? '')?.at === time.now)
  const [line, end] = [await market.heads.last(), await market.heads.end()]
  await running.close()
  const heads = { ...market.heads, last: async () => line, end: async () => end }
  await appended(1, time.now + 1000)
  time.now += 60 * MINUTE_MS
  await runHeadWriter({ ...market.platform, store: market.store, heads, isAlone: true }, AbortSignal.abort())
  assert.deepEqual(said, [])
})

test('an event after the clean stop of a market without other processes is a gap', async () => {
  const { ran, appended, reasons, marked, ends } = await world()
  await appended(2)
  await ran()
  assert.equal(parseLogEnd(ends.at(-1) ?? '')?.closed, true)
  await ran()
  assert.deepEqual(reasons(), [])
  await appended(1)
  await ran()
  assert.deepEqual([reasons(), marked()], [['events after a clean stop'], [3]])
})

test('other processes of a cluster may append events while the head writer does not run', async () => {
  const { ran, appended, reasons, time, ends } = await world()
  await appended(2)
  await ran({ isAlone: false })
  assert.equal(parseLogEnd(ends.at(-1) ?? '')?.closed, false)
  await appended(5, time.now + 20_000)
  time.now += 60 * MINUTE_MS
  await appended(5, time.now - 30_000)
  await ran({ isAlone: false })
  assert.deepEqual(reasons(), [])
  await appended(1, time.now + 2 * MINUTE_MS)
  time.now += 60 * MINUTE_MS
  await ran({ isAlone: false })
  assert.deepEqual(reasons(), ['events of more than 60 seconds'])
})

test('the last known end of the log reveals a replaced log, even if heads were removed', async () => {
  const { ran, appended, reasons, lines, market, time } = await world()
  await appended(4)
  await ran({ isKilled: true })
  lines.splice(1)
  // A power failure may lose heads. The log still matches its signed end, so there is no gap.
  await ran({ isKilled: true })
  assert.deepEqual(reasons(), [])
  lines.splice(1)
  const others = await world()
  await others.appended(5, time.now)
  await runHeadWriter({ ...market.platform, store: others.market.store, heads: market.heads, isAlone: true }, AbortSignal.abort())
  assert.deepEqual(reasons(), ['the log does not contain its last known end'])
  assert.ok(lines.every((line) => isSigned(market.heads.key ?? new Uint8Array(), line)))
})

test('events before the first head are a gap, and heads are not continued with an older copy of the store', async () => {
  const { ran, appended, said, lines, ends, marked, market } = await bare()
  await appended(3)
  await ran()
  assert.deepEqual([said.length, marked()], [1, [3]])
  const older = await world()
  await older.appended(1)
  ends.splice(0)
  const before = [...lines]
  await runHeadWriter({ ...market.platform, store: older.market.store, heads: market.heads }, AbortSignal.abort())
  assert.deepEqual(lines, before)
  assert.equal(said.length, 2)
})

test.each([
  ['the old end moved away too', true, []],
  ['the old end not moved', false, [undefined]],
])('after a change of the audit key without the old heads, the new heads begin with a gap: %s', async (_, isMoved, before) => {
  const { ran, appended, lines, ends, reasons, marked, market } = await world()
  await appended(3)
  await ran()
  lines.splice(0)
  if (isMoved) ends.splice(0)
  const heads = { ...market.heads, key: randomBytes(32) }
  const start = () => runHeadWriter({ ...market.platform, store: market.store, heads, isAlone: true }, AbortSignal.abort())
  await start()
  // An end that the new key did not sign is logged as an error without a `reason`.
  assert.deepEqual(reasons(), [...before, 'events of more than 60 seconds'])
  assert.deepEqual(marked(), [3])
  assert.ok(isSigned(heads.key, ends.at(-1) ?? ''))
  await start()
  assert.equal(reasons().length, before.length + 1)
})
